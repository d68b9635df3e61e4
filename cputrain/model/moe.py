"""The mixture-of-experts block on paper: gpt's with its MLP split up. Standard library only.

Each token goes through the TOP of EXPERTS MLPs that a router picks (Shazeer et al. 2017);
their outputs are weighted by a softmax over those picked (Jiang et al. 2024, "Mixtral",
sec. 2.1). An expert has 1 / EXPERTS of gpt's hidden width, so that the block has as many
parameters as gpt's, and the router's beside.
"""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.experiment.activations import is_gated
from cputrain.experiment.rules import EXPERTS as EXPERTS
from cputrain.model.attention_kept import attention_numbers
from cputrain.model.transformer import Shapes, attention_shapes, layer

TOP = 2
"""Experts of each token."""


def hidden(experiment: Experiment) -> int:
    """Hidden width of one expert; `rules` refuses what does not divide."""
    return experiment.model.hidden // EXPERTS


def block_shapes(experiment: Experiment) -> Shapes:
    """Every tensor of a block."""
    width, inner = experiment.model.n_embd, hidden(experiment)
    rows = inner * (2 if is_gated(experiment.model.activation) else 1)
    shapes = {
        **layer("ln_1", width),
        **attention_shapes(experiment),
        **layer("ln_2", width),
        "mlp.router": (EXPERTS, width),
    }
    for i in range(EXPERTS):
        shapes |= layer(f"mlp.experts.{i}.fc", rows, width)
        shapes |= layer(f"mlp.experts.{i}.proj", width, inner)
    return shapes


def weight_use(experiment: Experiment) -> dict[str, float]:
    """Share of the tokens that a weight multiplies, where it is not 1: on average, of experts."""
    names = (name for name in block_shapes(experiment) if name.startswith("mlp.experts."))
    return dict.fromkeys(names, TOP / EXPERTS)


def kept(experiment: Experiment) -> int:
    """Numbers kept for the backward pass by one block for one micro-batch.

    Both norms' inputs and outputs, and attention's; of each token's experts its copy, what a
    transformer's MLP keeps of the hidden layer, the output as it is and weighted.
    """
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    inner = hidden(experiment) * (4 if is_gated(model.activation) else 2)
    numbers = tokens * (4 * model.n_embd + TOP * (3 * model.n_embd + inner))
    return numbers + attention_numbers(experiment)
