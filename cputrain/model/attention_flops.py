"""Matrix products inside attention: scores and weighted sums. Standard library only."""

from __future__ import annotations

import math

from cputrain.experiment import Experiment
from cputrain.model import on_paper

KEY_BLOCK = 512
"""Keys that torch's fused CPU kernel takes at a time (ATen/native/cpu/FlashAttentionKernel.cpp)."""


def pairs(experiment: Experiment) -> int:
    """(query, key) pairs that one head computes for one sequence, as executed.

    The formula of causal attention, T (T + 1) / 2, is what nobody executes: by hand all T^2 are,
    and the fused kernel and our own C skip keys by whole blocks only. Windows of W are
    folded: local attention is full attention over T / W blocks; with sliding attention the
    queries of a block meet its own keys and, but for the first block, those of the block before
    it under a mask, which skips nothing.
    """
    model, length = experiment.model, experiment.training.seq_len
    if (own := on_paper.of(experiment).pairs(length)) is not None:
        return own
    window = model.window or length
    skips = has_fused_kernel(experiment) and model.architecture != "bert"
    alone = causal_pairs(window) if skips else window**2
    if model.attention == "sliding":
        return alone + (length - window) * 2 * window
    return length // window * alone


def has_fused_kernel(experiment: Experiment) -> bool:
    """Whether one kernel does all of attention; an engine's sdpa need not be one."""
    runtime = experiment.runtime
    if runtime.attention_backend is None:
        raise ValueError("attention_backend = None: the experiment is not settled")
    return runtime.attention_backend == "sdpa" and on_paper.of(experiment).fuses_attention


def query_block(length: int) -> int:
    """Queries that torch's fused CPU kernel takes at a time, of `length`."""
    return 256 if length >= 768 else 64 if length >= 192 else 32


def causal_pairs(length: int) -> int:
    """Pairs of the fused causal kernel: a block of queries goes over whole blocks of keys."""
    step, total = query_block(length), 0
    for start in range(0, length, step):
        end = min(start + step, length)
        total += (end - start) * min(math.ceil(end / KEY_BLOCK) * KEY_BLOCK, length)
    return total


def attention_flops(experiment: Experiment) -> tuple[int, int]:
    """FLOP of one block for one sequence: forward pass, backward pass.

    Keys and values that several heads share (GQA) are multiplied once for each head. By hand
    and in JAX there are 2 products forward and 4 backward; torch's fused kernel computes the
    scores again in the backward pass: 2 and 5.
    """
    model = experiment.model
    product = 2 * pairs(experiment) * model.n_head * model.d_head
    return 2 * product, (5 if has_fused_kernel(experiment) else 4) * product
