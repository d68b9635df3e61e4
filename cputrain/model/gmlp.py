"""The gMLP block on paper (Liu et al. 2021, "Pay Attention to MLPs"). Standard library only.

x + proj(gate(gelu(fc(ln_1(x))))), where the gate splits the channels in two halves u, v and
gives u * (S ln_gate(v) + b): S [T, T] is one weight for each pair of positions, b [T] one
for each position. Made causal: of S, what lies above the diagonal is left out.
"""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.model.transformer import Shapes, layer
from cputrain.model.widths import gpt_block, nearest


def hidden(experiment: Experiment) -> int:
    """Channels of each half: the multiple of 32 that matches gpt's block, as `widths` says.

    S is reckoned with seq_len = n_embd, as in the baseline, so that another seq_len changes
    S alone and not the width.
    """
    width = experiment.model.n_embd
    return nearest(
        gpt_block(experiment) - width * (width + 1),
        lambda half: 2 * half * (width + 1) + 2 * half + width * (half + 1) + 2 * width,
        step=32,
    )


def block_shapes(experiment: Experiment) -> Shapes:
    """Every tensor of a block; fc's first rows are u's, then come v's."""
    width, half, length = experiment.model.n_embd, hidden(experiment), experiment.training.seq_len
    return {
        **layer("ln_1", width),
        **layer("fc", 2 * half, width),
        **layer("ln_gate", half),
        "spatial.weight": (length, length),
        "spatial.bias": (length,),
        **layer("proj", width, half),
    }


def mixing_flops(experiment: Experiment) -> int:
    """S times v of one sequence, forward, as executed: with what lies above the diagonal."""
    return 2 * experiment.training.seq_len**2 * hidden(experiment)


def weight_use(experiment: Experiment) -> dict[str, float]:
    """Share of the tokens that a weight multiplies, where it is not 1; S is in mixing_flops."""
    return {"spatial.weight": 0.0}


def kept(experiment: Experiment) -> int:
    """Numbers kept for the backward pass by one block for one micro-batch.

    Input and output of the norm; fc's and gelu's outputs, v normed and mixed, the product.
    """
    training, half = experiment.training, hidden(experiment)
    tokens = training.batch_size * training.seq_len
    return tokens * (2 * experiment.model.n_embd + 7 * half) + training.seq_len**2
