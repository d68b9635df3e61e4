"""What mixes tokens in a block, for the counts: attention, or what the architecture has instead.

Standard library only.
"""

from __future__ import annotations

from types import ModuleType

from cputrain.experiment import Experiment
from cputrain.experiment.rules import WITH_ATTENTION
from cputrain.model import gmlp, lstm, moe, ssm
from cputrain.model.attention_flops import attention_flops

COUNTS: dict[str, ModuleType] = {"lstm": lstm, "gmlp": gmlp, "ssm": ssm, "moe": moe}
"""By architecture, where it is not a plain transformer: what counts for it.

`weight_use(experiment)`: share of the tokens that a weight multiplies, where it is not 1;
`kept(experiment)`: numbers kept for the backward pass by one block for one micro-batch; without
attention, `mixing_flops(experiment)`: FLOP of the forward products of one block for one
sequence that are no products with a weight; their backward pass has twice as many.
"""


def weight_use(experiment: Experiment) -> dict[str, float]:
    """Share of the tokens that a block's weight multiplies, where it is not 1."""
    counts = COUNTS.get(experiment.model.architecture)
    return counts.weight_use(experiment) if counts else {}


def mixing_flops(experiment: Experiment) -> tuple[int, int]:
    """FLOP of one block for one sequence, as executed: forward pass, backward pass."""
    if experiment.model.architecture in WITH_ATTENTION:
        return attention_flops(experiment)
    forward = COUNTS[experiment.model.architecture].mixing_flops(experiment)
    return forward, 2 * forward


def formula_flops(experiment: Experiment) -> float:
    """FLOP of one block for one token, forward, by the usual formula: all pairs of tokens."""
    model, length = experiment.model, experiment.training.seq_len
    if model.architecture in WITH_ATTENTION:
        return 4 * model.n_head * model.d_head * length
    return mixing_flops(experiment)[0] / length
