"""Numbers that attention keeps for its backward pass, in one block. Standard library only."""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.model import on_paper
from cputrain.model.attention_flops import has_fused_kernel, pairs


def attention_numbers(experiment: Experiment) -> int:
    """q, k, v and output; turned, folded or copied ones too; by hand the weights of each pair."""
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    query, shared = model.n_head * model.d_head, model.kv_heads * model.d_head
    numbers = tokens * 2 * (query + shared)
    if model.architecture == "llama":  # q and k as they were, and turned
        numbers += tokens * (query + shared)
    if model.attention == "sliding":  # keys and values beside those of the block before
        numbers += tokens * (query + 4 * shared)
    if not has_fused_kernel(experiment):
        numbers += tokens * (query + 2 * shared)
        # With dropout: the weights, the mask, and what it leaves of them.
        each = 3 if model.dropout else on_paper.of(experiment).kept_per_pair
        numbers += pair_numbers(experiment) * each
    return numbers


def pair_numbers(experiment: Experiment) -> int:
    """(query, key) pairs of all heads of one micro-batch; what attention by hand has at a time."""
    return pairs(experiment) * experiment.model.n_head * experiment.training.batch_size
