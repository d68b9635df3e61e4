"""A step's work by what it costs, in seconds at the rates that the machine was measured to have.

A prediction is the sum of these terms, each times its coefficient. Standard library only: a
prediction takes less than a second, so it imports nothing large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cputrain.analysis.cost import attention_work, moved, product_work
from cputrain.analysis.cost.moved import FLOAT
from cputrain.analysis.cost.product_work import NARROW
from cputrain.experiment import Experiment
from cputrain.model import fresh, on_paper
from cputrain.model.attention_flops import pairs
from cputrain.model.flops import flops_per_step
from cputrain.model.memory_estimate import state_bytes
from cputrain.model.parts import OPTIMIZER_NUMBERS
from cputrain.model.shapes import n_params, n_trained

OUTSIDE_BLOCKS = 4
"""Passes of embedding, head, loss and update, counted like those of a block."""


@dataclass(frozen=True)
class Rates:
    """What a machine was measured to do with all its threads.

    Attributes:
        peak: FLOP/s in fp32; bandwidth: bytes/s.
        threads: that the peak was measured with, and steps compute with.
        cache: bytes of all caches of the last level; 0 where that is not known.
    """

    peak: float
    bandwidth: float
    threads: int
    cache: int = 0


class Term(NamedTuple):
    """A kind of work.

    Attributes:
        what: in words.
        unit: of its coefficient.
        prior: the coefficient that is expected before anything is measured.
        least: that it cannot be below: the measured peak.
        over: the term whose coefficient `prior` is a multiple of; None where it is one by itself.
    """

    what: str
    unit: str
    prior: float
    least: float = 0.0
    over: str | None = None


PAGE_UNIT = 1e-6
"""Seconds that a page counts in the term `pages`."""
AT_PEAK, AT_BANDWIDTH = "x the time at the measured peak", "x the time at the measured bandwidth"
TERMS: dict[str, Term] = {
    "products": Term("products with weights", AT_PEAK, 1.4, 1.0),
    "narrow": Term(f"more where two dimensions are {NARROW}", AT_PEAK, 0.6),
    "far": Term("more for arrays beyond a core's cache", AT_PEAK, 0.3),
    "attention": Term("products of tokens with tokens", AT_PEAK, 2.0, 1.0),
    "softmax": Term("attention's weights", "ns for a pair of tokens and head", 1.0),
    "blocks": Term("attention by blocks", "µs for a product of two", 2.0),
    "elementwise": Term("norms, activations, additions", AT_BANDWIDTH, 1.0),
    "logits": Term("logits and loss", AT_BANDWIDTH, 3.0),
    "weights": Term("weights read, gradients written", AT_BANDWIDTH, 1.5),
    "optimizer": Term("update", AT_BANDWIDTH, 1.5),
    "uncached": Term("more of weights beyond the last cache", AT_BANDWIDTH, 0.5),
    "dispatch": Term("handing out work", "µs for a pass of a block", 150.0),
    "apart": Term(
        "more of that while the CPUs lie far apart",
        "µs for a pass of a block",
        2.5,
        over="dispatch",
    ),
    "across": Term("factors packed by a CPU that lies far", AT_BANDWIDTH, 1.0),
    "pages": Term("fresh memory", "µs for a page of 4 KiB", 0.5),
}
"""By name; coefficients are dimensionless where the term is seconds at a rate."""


def terms(experiment: Experiment, rates: Rates, far: float = 0.0) -> dict[str, float]:
    """The terms of one optimizer step, in seconds for a coefficient of 1 in its unit.

    n tokens of a micro-batch, of which there are A; C = n_embd, L = n_layer, V = vocab_size,
    F operations; passes p: forward, again with checkpointing, backward counted as two.

        products, attention  F / peak, as `model.flops` counts what is executed, times what threads
                             wait for each other (`product_work`, `attention_work`)
        narrow, far          products times how thin and how large a product is (`product_work`)
        softmax              (query, key) pairs x heads x p
        blocks               products of two blocks in fused attention, over the threads
        elementwise, logits, weights
                             bytes over bandwidth (`moved`)
        optimizer            numbers of the update (`model.parts`) x 4, over bandwidth
        uncached             weights, times the share of weights, gradients and the update's state
                             that the last caches do not hold; not the update, which reads on and
                             on: own C's was as fast for each of 28 M weights as of 0.3 M
        dispatch             A (L p + 4); a recomputing pass may count as several (`on_paper`)
        apart                the same, times `far`
        across               elementwise and weights, times `far`, where threads pack factors for
                             each other: what one wrote lies in a cache that the other does not
                             share
        pages                `model.fresh`

    Args:
        experiment: settled, of fp32.
        far: share of the time while its CPUs lie far apart (`analysis.places`).
    """
    work, training = flops_per_step(experiment), experiment.training
    trains = training.objective != "forward"
    passes = 1 + training.activation_checkpointing + 2 * trains
    handed = training.activation_checkpointing * (on_paper.of(experiment).again_passes - 1)
    blocks = experiment.model.n_layer * training.grad_accum
    heads = experiment.model.n_head * training.batch_size
    uneven = attention_work.uneven(experiment, rates.threads)
    passed_on = 1e-6 * (blocks * (passes + handed) + OUTSIDE_BLOCKS * training.grad_accum)
    numbers = OPTIMIZER_NUMBERS.get(training.optimizer, OPTIMIZER_NUMBERS["sgd"])
    update = trains * numbers * n_trained(experiment) * FLOAT
    crossing = on_paper.of(experiment).packs_together
    weights, passed = moved.weights(experiment), moved.elementwise(experiment)
    return {
        "products": product_work.products(experiment, rates.threads) / rates.peak,
        "narrow": product_work.narrow(experiment, rates.threads) / rates.peak,
        "far": product_work.far(experiment, rates.threads) / rates.peak,
        "attention": uneven * work.attention / rates.peak,
        "softmax": 1e-9 * pairs(experiment) * heads * blocks * passes,
        "blocks": 1e-6 * attention_work.block_products(experiment) / rates.threads,
        "elementwise": passed / rates.bandwidth,
        "logits": moved.logits(experiment) / rates.bandwidth,
        "weights": weights / rates.bandwidth,
        "optimizer": update / rates.bandwidth,
        "uncached": _uncached(experiment, rates.cache) * weights / rates.bandwidth,
        "dispatch": passed_on,
        "apart": far * passed_on,
        "across": crossing * far * (passed + weights) / rates.bandwidth,
        "pages": PAGE_UNIT * fresh.pages(experiment),
    }


def _uncached(experiment: Experiment, cache: int) -> float:
    """Share of weights, gradients and the update's state that the last caches do not hold."""
    trains = experiment.training.objective != "forward"
    gradients = trains * FLOAT * n_trained(experiment)
    held = FLOAT * n_params(experiment) + gradients + trains * state_bytes(experiment)
    return max(0.0, 1 - cache / held)


def least_s(experiment: Experiment, rates: Rates) -> float:
    """Seconds that its products take at the measured peak: no step is faster."""
    return flops_per_step(experiment).total / rates.peak
