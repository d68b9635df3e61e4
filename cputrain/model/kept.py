"""Numbers that a block keeps for its backward pass, by architecture. Standard library only."""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.experiment.activations import is_gated
from cputrain.model import on_paper
from cputrain.model.attention_flops import has_fused_kernel, pairs
from cputrain.model.mixing import COUNTS


def block_numbers(experiment: Experiment) -> int:
    """Numbers kept by one block for one micro-batch; an estimate, as memory is.

    Masks of dropout are in it: torch keeps them as numbers on a CPU. With fine_tuning = "lora"
    the inputs of frozen layers are not needed; with "head" nothing is.
    """
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    if training.fine_tuning == "head" or training.objective == "forward":
        return 0
    dropped = tokens * model.n_embd if model.dropout else 0
    if model.architecture in COUNTS:
        return int(COUNTS[model.architecture].kept(experiment)) + dropped
    # A gated activation: values, gates, what is made of the gates, the product.
    hidden = (4 if is_gated(model.activation) else 2) * model.hidden
    width = model.n_embd * (4 + (2 if model.architecture == "llama" else 0))
    if training.fine_tuning == "lora":
        hidden, width = hidden - model.hidden, width - model.n_embd
    return tokens * (width + hidden) + attention_numbers(experiment) + 2 * dropped


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
