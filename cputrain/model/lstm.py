"""The LSTM block on paper. Standard library only.

x + proj(lstm(ln_1(x))), with one layer of long short-term memory (Hochreiter & Schmidhuber
1997) with forget gates (Gers et al. 2000): rows of both weights and of the bias are the
input gates', the forget gates', the new values', the output gates'.
"""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.model.transformer import Shapes, layer
from cputrain.model.widths import gpt_block, nearest

GATES = 4
WORKSPACE = 15
"""Numbers for each cell and token that oneDNN's layer keeps for its backward pass: gates, states
and room for their gradients (measured: oneDNN of torch 2.13)."""


def hidden(experiment: Experiment) -> int:
    """Cells: the multiple of 8 that gives the block nearly as many parameters as gpt's has."""
    width = experiment.model.n_embd
    return nearest(
        gpt_block(experiment),
        lambda h: GATES * h * (width + h + 1) + width * (h + 1) + 2 * width,
        step=8,
    )


def block_shapes(experiment: Experiment) -> Shapes:
    """Every tensor of a block."""
    width, cells = experiment.model.n_embd, hidden(experiment)
    return {
        **layer("ln_1", width),
        "lstm.input.weight": (GATES * cells, width),
        "lstm.recurrent.weight": (GATES * cells, cells),
        "lstm.bias": (GATES * cells,),
        **layer("proj", width, cells),
    }


def mixing_flops(experiment: Experiment) -> int:
    """None: tokens are mixed by the recurrent weight, which multiplies every token's state."""
    return 0


def weight_use(experiment: Experiment) -> dict[str, float]:
    """Share of the tokens that a weight multiplies, where it is not 1."""
    return {}


def kept(experiment: Experiment) -> int:
    """Numbers kept for the backward pass by one block for one micro-batch.

    Input and output of the norm; the cells' output, which is the projection's input as well;
    and the fused layer's workspace.
    """
    training = experiment.training
    tokens = training.batch_size * training.seq_len
    return tokens * (2 * experiment.model.n_embd + (1 + WORKSPACE) * hidden(experiment))
