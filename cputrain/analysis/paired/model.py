"""The model of pairs, and how likely it makes what was measured.

Pair j of pass i of a cell has the log ratio x_ij = theta + w_i + e_ij: theta is the log effect, w_i
how far the two workers of that pass are apart when nothing differs, and by how much the effect is
another at that time; e_ij what the machine did between the pair's two blocks. Both have Student's t
distributions, as noise has that comes in bursts: an outlying pair or worker then loses its weight
by itself (Lange, Little & Taylor 1989, "Robust Statistical Modeling Using the t Distribution", J.
Am. Stat. Assoc. 84, 881-896). Passes as a level of their own: Kalibera & Jones 2013, "Rigorous
Benchmarking in Reasonable Time", ISMM, 63-74. All is summed on grids: there are three unknown
numbers and few pairs, so neither large samples nor chance are called for.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

PAIR_SD = 1.134
"""Standard deviation of the normal distribution with the quartiles of a t with 3 degrees of
freedom and scale 1: the distribution of pairs."""
WORKER_SD = 1.098
"""The same of 4 degrees of freedom: the distribution of worker effects."""
MEDIAN_VARIANCE = 1.5
"""Variance of the median of n pairs, times n over the square of their normal-equivalent standard
deviation: pi / 2 for a normal distribution, 1.44 for 3 degrees of freedom (1 / 4 f(0)^2)."""
OF_EFFECT = 0.05
"""Share of a log effect by which one pass differs from another, as a scale of w beside that of the
engine's workers: what a larger model costs changes with the hour's clock, caches and fresh pages.
By the passes of cells that ran several times the likeliest are 0.04 (torch, 107 cells), 0.1 (own C,
26) and 0.03 (JAX, 11); of torch and own C 0 is e^6.7 and e^15 times less likely than these
(docs/figures/turns.md)."""
PLACES = 51
"""Points of the grid over theta + w around a pass."""
EFFECTS = 81
"""Points of the grid over theta around a centre; its ends are read off it, so it is finer."""
BEYOND = 1e3
"""A log ratio that is as good as infinite."""


@dataclass(frozen=True)
class Pass:
    """The pairs of one pass of a cell that count: one worker beside one reference.

    Attributes:
        log_ratios: of each pair, the natural logarithm of the cell's block over the reference's
            block (seconds per step both), in the order of time.

    Raises:
        ValueError: there is no pair, or one is not finite.
    """

    log_ratios: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.log_ratios:
            raise ValueError("a pass without a pair")
        if not np.isfinite(self.log_ratios).all():
            raise ValueError(f"a pair's log ratio is not finite: {self.log_ratios}")

    @cached_property
    def median(self) -> float:
        """The median of its log ratios."""
        return statistics.median(self.log_ratios)


def spread(values: Sequence[float]) -> float:
    """The largest distance from the median."""
    middle = statistics.median(values)  # of few values it takes a twentieth of NumPy's time
    return max(middle - min(values), max(values) - middle)


def offsets(fine: float, far: float, points: int = PLACES) -> Array:
    """Points from -far to far: dense within `fine` of 0, ever sparser beyond. Shape (points,)."""
    return fine * np.sinh(np.linspace(-1.0, 1.0, points) * math.asinh(far / fine))


def pairs_density(log_ratios: Sequence[float], places: Array, scales: Array) -> Array:
    """How likely the pairs of a pass are, up to a constant factor.

    Args:
        log_ratios: of its pairs.
        places: theta + w, to broadcast with `scales`.
        scales: of the t distribution of pairs.

    Returns:
        The product over pairs of their densities, in the shape of `places` and `scales` together.
    """
    density = np.ones(np.broadcast_shapes(places.shape, scales.shape))
    for ratio in log_ratios:
        off = (ratio - places) / scales
        density = density / (scales * (1.0 + off * off / 3.0) ** 2)
        density = density / np.max(density)  # the product of many would leave the numbers' range
    return density


def worker_cdf(off: Array, scales: Array) -> Array:
    """P(w <= off) for worker effects of these scales: of t with 4 degrees of freedom.

    In closed form: 1/2 + u (3 - u^2) / 4 with u = t / sqrt(4 + t^2).
    """
    u = np.sqrt(4.0 * scales * scales + off * off)
    np.divide(off, u, out=u)  # the arrays are large: to get memory for each takes as long
    cdf = u * u
    np.subtract(3.0, cdf, out=cdf)
    cdf *= u
    cdf /= 4.0
    cdf += 0.5
    return cdf


def growth(passes: Sequence[Pass]) -> float:
    """Scale of the part of w that grows with a cell's effect: by the median of its passes."""
    return OF_EFFECT * abs(statistics.median(pass_.median for pass_ in passes))


def likelihood(passes: Sequence[Pass], thetas: Array, blocks: Array, workers: Array) -> Array:
    """How likely the passes of a cell are, up to a constant factor.

    Args:
        passes: of one cell.
        thetas: log effects, shape (T,).
        blocks: scales of its pairs, shape (B,).
        workers: scales of w, shape (W,).

    Returns:
        Shape (W, T, B).
    """
    product = np.ones((len(workers), len(thetas), len(blocks)))
    for pass_ in passes:
        fine = float(np.median(blocks)) / math.sqrt(len(pass_.log_ratios))
        far = 2 * spread(pass_.log_ratios) + 12 * float(blocks[-1])
        places = pass_.median + offsets(fine, far)
        pairs = pairs_density(pass_.log_ratios, places[:, None], blocks[None, :])
        # The share of worker effects that fall into each cell of the grid is exact, also where
        # they are finer than the grid.
        edges = np.concatenate(([-BEYOND], (places[1:] + places[:-1]) / 2, [BEYOND]))
        below = worker_cdf((thetas[:, None] - edges[None, :])[None], workers[:, None, None])
        product *= -np.diff(below, axis=2) @ pairs
        product /= np.max(product)
    return product


def thetas(passes: Sequence[Pass], block: float, worker: float) -> Array:
    """A grid of log effects, dense around the median of each pass, in rising order.

    Args:
        passes: of one cell.
        block, worker: typical scales of e and of w.
    """
    medians = [pass_.median for pass_ in passes]
    most = max(len(pass_.log_ratios) for pass_ in passes)
    fine = math.hypot(worker, block / math.sqrt(most))
    reach = max(spread(pass_.log_ratios) for pass_ in passes)
    far = 4 * (max(medians) - min(medians)) + 2 * reach + 40 * fine
    around: list[float] = [statistics.median(medians)]
    # Passes that agree share a centre.
    for median in medians:
        if min(abs(median - centre) for centre in around) > 4 * fine:
            around.append(median)
    return np.unique(
        np.concatenate([centre + offsets(fine / 2, far, EFFECTS) for centre in around])
    )
