"""What torch's fused attention costs beside its operations. Standard library only.

ATen/native/cpu/FlashAttentionKernel.cpp multiplies blocks of queries by blocks of keys, each by a
call of its own: 2 in the forward pass, 5 in the backward pass. The forward pass shares out heads
and blocks of queries among the threads, the backward pass whole heads of keys alone: with a single
one of 256 tokens it took as long on two threads as on one (torch 2.13, Xeon).
"""

from __future__ import annotations

import math

from cputrain.experiment import Experiment
from cputrain.model.attention_flops import KEY_BLOCK, has_fused_kernel, query_block

FORWARD, BACKWARD = 2, 5
"""Products of a block of queries and one of keys, in either pass."""


def uneven(experiment: Experiment, threads: int) -> float:
    """The time of attention's products over what it were if all threads had as much to do.

    Args:
        experiment: settled.
        threads: that compute.
    """
    training, model = experiment.training, experiment.model
    if not has_fused_kernel(experiment) or training.objective == "forward":
        return 1.0
    heads = training.batch_size * model.kv_heads
    if model.attention == "local":
        heads *= training.seq_len // (model.window or training.seq_len)
    longer = math.ceil(heads / threads) * threads / heads
    forward = FORWARD * (1 + training.activation_checkpointing)
    return (forward + BACKWARD * longer) / (forward + BACKWARD)


def block_products(experiment: Experiment) -> int:
    """Products of two blocks in one optimizer step; 0 where attention is no fused kernel.

    Args:
        experiment: settled.
    """
    training, model = experiment.training, experiment.model
    if not has_fused_kernel(experiment):
        return 0
    trains = training.objective != "forward"
    each = FORWARD * (1 + training.activation_checkpointing) + BACKWARD * trains
    heads = model.n_head * training.batch_size * training.grad_accum
    return each * heads * model.n_layer * _block_pairs(experiment)


def _block_pairs(experiment: Experiment) -> int:
    """(block of queries, block of keys) pairs of one head and one sequence."""
    model, length = experiment.model, experiment.training.seq_len
    window, causal = model.window or length, model.architecture != "bert"
    alone = _met(window, window, causal)
    if model.attention == "sliding":
        return alone + (length // window - 1) * _met(window, 2 * window, False)
    return length // window * alone


def _met(queries: int, keys: int, causal: bool) -> int:
    step = query_block(queries)
    ends = range(step, queries + step, step)
    return sum(math.ceil((min(end, keys) if causal else keys) / KEY_BLOCK) for end in ends)
