"""Bytes that parts of a step read and write beside their products. Standard library only."""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.experiment.activations import is_gated
from cputrain.model import on_paper
from cputrain.model.shapes import n_params

FLOAT = 4
"""Bytes of a float32."""
RMS_NORM = 3.3
"""torch's RMSNorm over its LayerNorm, by time: on a CPU it is operators one by one (3.1 with 1024 x
128 numbers, 3.5 with 256 x 256, forward and backward, one thread of a Xeon, torch 2.13)."""


def elementwise(experiment: Experiment) -> float:
    """Of norms, activations, additions, and the shuffling of q, k and v; all micro-batches.

    Positions turn q and k in llama. Sliding attention folds q and puts the keys and values before
    to each block, and puts its parts together again, forward and backward.

    Args:
        experiment: settled.
    """
    model, training = experiment.model, experiment.training
    tokens, width = training.batch_size * training.seq_len, model.n_embd
    trains = int(training.objective != "forward")
    hidden = model.hidden * (2 if is_gated(model.activation) else 1)
    activation = hidden + model.hidden + trains * (2 * hidden + model.hidden)
    norm = width * (2 + 3 * trains) * (RMS_NORM if model.architecture == "llama" else 1)
    addition = 0 if on_paper.of(experiment).adds_in_products else 3 * width * (1 + trains)
    query, shared = model.n_head * model.d_head, model.kv_heads * model.d_head
    shuffled = (4 * query + 4 * shared) * (1 + trains)
    if model.architecture == "llama":
        shuffled += 6 * (query + shared) * (1 + trains)
    if model.attention == "sliding":
        shuffled += (4 * query + 8 * shared) * (1 + trains)
    again = 1 + training.activation_checkpointing / (1 + 2 * trains)
    block = (activation + 2 * norm + 2 * addition + shuffled) * again
    return FLOAT * training.grad_accum * tokens * (model.n_layer * block + norm)


def logits(experiment: Experiment) -> float:
    """Of the logits, 3 times in training: read, written, their gradient; micro-batches, heads.

    Args:
        experiment: settled.
    """
    training = experiment.training
    times = 1 if training.objective == "forward" else 3
    heads = 2 if training.objective == "masked_node" else 1
    return heads * times * FLOAT * training.tokens_per_step * experiment.model.vocab_size


def weights(experiment: Experiment) -> float:
    """Of all weights, however few tokens a micro-batch has.

    3 times in training: read by both passes, gradients written. Those of each micro-batch but the
    first are added to the ones before (`adding_gradients`). The token table's gradient is as large
    as the table where each array is allocated: zeros to which rows are added, and where the head
    is the same table, the sum of both gradients.

    Args:
        experiment: settled.
    """
    model, training = experiment.model, experiment.training
    trains, every = training.objective != "forward", n_params(experiment)
    added = on_paper.of(experiment).adding_gradients * (training.grad_accum - 1) * every
    numbers = (3 if trains else 1) * every
    if trains and on_paper.of(experiment).allocates == "arrays":
        numbers += (4 if model.tied else 1) * model.vocab_size * model.n_embd
    return float(FLOAT * (training.grad_accum * numbers + added))
