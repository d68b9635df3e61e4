"""A step's work by what it costs, in seconds at the rates that the machine was measured to have.

A prediction is the sum of these terms, each times its coefficient. Standard library only: a
prediction takes less than a second, so it imports nothing large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from cputrain.experiment import Experiment
from cputrain.experiment.activations import is_gated
from cputrain.model import fresh, on_paper
from cputrain.model.attention_flops import pairs
from cputrain.model.flops import flops_per_step, shares
from cputrain.model.parts import OPTIMIZER_NUMBERS
from cputrain.model.products import runs
from cputrain.model.shapes import n_trained, weight_shapes

FLOAT = 4
"""Bytes of a float32."""
NARROW = 64
"""Smallest dimension of a product at which `narrow` is as large as `products`."""
OUTSIDE_BLOCKS = 4
"""Passes of embedding, head, loss and update, counted like those of a block."""


@dataclass(frozen=True)
class Rates:
    """What a machine was measured to do with all its threads: FLOP/s in fp32, bytes/s."""

    peak: float
    bandwidth: float


class Term(NamedTuple):
    """A kind of work.

    Attributes:
        what: in words.
        unit: of its coefficient.
        prior: the coefficient that is expected before anything is measured.
        least: that it cannot be below: the measured peak.
    """

    what: str
    unit: str
    prior: float
    least: float = 0.0


AT_PEAK, AT_BANDWIDTH = "x the time at the measured peak", "x the time at the measured bandwidth"
TERMS: dict[str, Term] = {
    "products": Term("products with weights", AT_PEAK, 1.4, 1.0),
    "narrow": Term(f"more where a dimension is {NARROW}", AT_PEAK, 0.3),
    "attention": Term("products of tokens with tokens", AT_PEAK, 2.0, 1.0),
    "softmax": Term("attention's weights", "ns for a pair of tokens and head", 0.7),
    "elementwise": Term("norms, activations, additions", AT_BANDWIDTH, 1.0),
    "logits": Term("logits and loss", AT_BANDWIDTH, 3.0),
    "weights": Term("weights read, gradients written", AT_BANDWIDTH, 1.5),
    "optimizer": Term("update", AT_BANDWIDTH, 1.5),
    "dispatch": Term("handing out work", "µs for a pass of a block", 30.0),
    "pages": Term("fresh memory", "µs for a page of 4 KiB", 0.5),
}
"""By name; coefficients are dimensionless where the term is seconds at a rate."""


def terms(experiment: Experiment, rates: Rates) -> dict[str, float]:
    """The terms of one optimizer step, in seconds for a coefficient of 1 in its unit.

    n tokens of a micro-batch, of which there are A; C = n_embd, L = n_layer, V = vocab_size,
    F operations; passes p: forward, again with checkpointing, backward counted as two.

        products, attention  F / peak, as `model.flops` counts what is executed
        narrow               sum of F / peak x 64 / the product's smallest dimension
        softmax              (query, key) pairs x heads x p
        elementwise          bytes that norms, activations, additions and the shuffling of q, k, v
                             read and write, over bandwidth
        logits               A 4 n V, 3 times in training: read, written, their gradient
        weights              A 4 W, W of them, 3 times in training, 4 where A > 1: read by both
                             passes, gradients written, added to those of the micro-batch before
        optimizer            numbers of the update (`model.parts`) x 4, over bandwidth
        dispatch             A (L p + 4)
        pages                `model.fresh`

    Args:
        experiment: settled, of fp32.
    """
    work, training = flops_per_step(experiment), experiment.training
    trains = training.objective != "forward"
    passes = 1 + training.activation_checkpointing + 2 * trains
    blocks = experiment.model.n_layer * training.grad_accum
    heads = experiment.model.n_head * training.batch_size
    update = OPTIMIZER_NUMBERS.get(training.optimizer, OPTIMIZER_NUMBERS["sgd"])
    return {
        "products": work.matmul / rates.peak,
        "narrow": _narrow(experiment) / rates.peak,
        "attention": work.attention / rates.peak,
        "softmax": 1e-9 * pairs(experiment) * heads * blocks * passes,
        "elementwise": _elementwise(experiment) / rates.bandwidth,
        "logits": _logits(experiment) / rates.bandwidth,
        "weights": _weights(experiment) / rates.bandwidth,
        "optimizer": trains * update * n_trained(experiment) * FLOAT / rates.bandwidth,
        "dispatch": 1e-6 * (blocks * passes + OUTSIDE_BLOCKS * training.grad_accum),
        "pages": 1e-6 * fresh.pages(experiment),
    }


def _narrow(experiment: Experiment) -> float:
    """Operations of products with weights, each times NARROW over its smallest dimension."""
    shapes, training = weight_shapes(experiment), experiment.training
    tokens, total = training.batch_size * training.seq_len, 0.0
    for name, share in shares(experiment).items():
        if len(shapes[name]) == 2:
            out, width = shapes[name]
            work = 2 * share * out * width * tokens * sum(runs(experiment, name))
            total += work * NARROW / min(out, width, tokens)
    return total * training.grad_accum


def _elementwise(experiment: Experiment) -> float:
    """Bytes of all micro-batches."""
    model, training = experiment.model, experiment.training
    tokens, width = training.batch_size * training.seq_len, model.n_embd
    trains = int(training.objective != "forward")
    hidden = model.hidden * (2 if is_gated(model.activation) else 1)
    activation = hidden + model.hidden + trains * (2 * hidden + model.hidden)
    norm = width * (2 + 3 * trains)
    addition = 0 if on_paper.of(experiment).adds_in_products else 3 * width * (1 + trains)
    query, shared = model.n_head * model.d_head, model.kv_heads * model.d_head
    shuffled = (4 * query + 4 * shared) * (1 + trains)
    if model.architecture == "llama":  # positions turn q and k
        shuffled += 6 * (query + shared) * (1 + trains)
    again = 1 + training.activation_checkpointing / (1 + 2 * trains)
    block = (activation + 2 * norm + 2 * addition + shuffled) * again
    return FLOAT * training.grad_accum * tokens * (model.n_layer * block + norm)


def _logits(experiment: Experiment) -> float:
    """Bytes of all micro-batches and heads."""
    training = experiment.training
    times = 1 if training.objective == "forward" else 3
    heads = 2 if training.objective == "masked_node" else 1
    return heads * times * FLOAT * training.tokens_per_step * experiment.model.vocab_size


def _weights(experiment: Experiment) -> float:
    """Bytes of all micro-batches, however few tokens each has."""
    training = experiment.training
    times = 1 if training.objective == "forward" else 3 + (training.grad_accum > 1)
    numbers = sum(math.prod(shape) for shape in weight_shapes(experiment).values())
    return float(FLOAT * times * training.grad_accum * numbers)


def least_s(experiment: Experiment, rates: Rates) -> float:
    """Seconds that its products take at the measured peak: no step is faster."""
    return flops_per_step(experiment).total / rates.peak
