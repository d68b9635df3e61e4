"""The Mamba-2 block on paper: a selective state space model (SSD). Standard library only.

Dao & Gu 2024 ("Transformers are SSMs"), sec. 7.1 and listing 1: Mamba's selective scan (Gu &
Dao 2023, S6) with one decay for all channels of a head, which turns most of it into matrix
products. fc gives, for each token, the gates z, the inputs x (both n_heads * HEAD channels),
B and C (STATE each, shared by all heads), and each head's step dt; x, B and C go through a
causal convolution over KERNEL tokens, channel by channel, and SiLU.
"""

from __future__ import annotations

import math

from cputrain.experiment import Experiment
from cputrain.model.transformer import Shapes, layer
from cputrain.model.widths import gpt_block, nearest

HEAD = 64
"""Channels of a head."""
STATE = 64
"""Numbers that each channel remembers."""
KERNEL = 4
"""Tokens that the convolution sees."""
CHUNK = 64
"""Tokens whose pairs are computed at once; between chunks states are handed on."""


def inner(experiment: Experiment) -> int:
    """Channels of all heads: the multiple of HEAD that matches gpt's block, as `widths` says."""
    width = experiment.model.n_embd
    return nearest(gpt_block(experiment), lambda channels: _params(width, channels), step=HEAD)


def _params(width: int, channels: int) -> int:
    heads, mixed = channels // HEAD, channels + 2 * STATE
    fc = (channels + mixed + heads) * width
    return width * 2 + fc + mixed * (KERNEL + 1) + 3 * heads + channels + channels * width


def heads(experiment: Experiment) -> int:
    """Heads of HEAD channels."""
    return inner(experiment) // HEAD


def block_shapes(experiment: Experiment) -> Shapes:
    """Every tensor of a block; fc's rows are those of z, x, B, C, dt in this order."""
    width, channels, n = experiment.model.n_embd, inner(experiment), heads(experiment)
    mixed = channels + 2 * STATE
    return {
        **layer("ln_1", width),
        "fc.weight": (channels + mixed + n, width),
        "conv.weight": (mixed, KERNEL),
        "conv.bias": (mixed,),
        "a_log": (n,),
        "skip": (n,),
        "dt_bias": (n,),
        "ln_gate.weight": (channels,),
        "proj.weight": (width, channels),
    }


def chunks(experiment: Experiment) -> tuple[int, int]:
    """How many chunks a sequence has, and their tokens; the last one is filled up."""
    length = experiment.training.seq_len
    size = min(CHUNK, length)
    return math.ceil(length / size), size


def mixing_flops(experiment: Experiment) -> int:
    """Matrix products of the scan of one sequence, forward, as executed.

    In each chunk: C B^T; that, decayed, times x; B^T x, the chunk's state; C times the state
    before it. Between chunks: decays times states.
    """
    n, size = chunks(experiment)
    channels = inner(experiment)
    within = size * size * (STATE + channels) + 2 * size * STATE * channels
    return 2 * (n * within + n * n * STATE * channels)


def weight_use(experiment: Experiment) -> dict[str, float]:
    """Share of the tokens that a weight multiplies, where it is not 1.

    The convolution is KERNEL products of a channel by a number: no matrix product.
    """
    return {"conv.weight": 0.0}


def kept(experiment: Experiment) -> int:
    """Numbers kept for the backward pass by one block for one micro-batch.

    Input and output of the norm, fc's output; before, in and after the convolution; nine times
    the inner channels: the scan's inputs, decayed and not, its outputs, gates and norm. Decays
    and scores of the pairs in a chunk; the states before and after each chunk.
    """
    batch, (n, size) = experiment.training.batch_size, chunks(experiment)
    channels, n_heads = inner(experiment), heads(experiment)
    mixed = channels + 2 * STATE
    by_token = 2 * experiment.model.n_embd + (channels + mixed + n_heads) + 3 * mixed + 9 * channels
    pairs = size * (2 * n_heads + 1)
    return batch * (n * size * (by_token + pairs) + n * 2 * STATE * channels)
