"""The effect of a cell: its time over its reference's, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cputrain.analysis.paired import model
from cputrain.analysis.paired.model import Array, Pass
from cputrain.analysis.paired.noise import EngineNoise

LEVEL = 0.99
"""Of an effect's interval."""
EQUIVALENCE_LEVEL = 0.90
"""Of the interval that two one-sided tests at 5 % look at (Schuirmann 1987)."""
NO_NOISE = "no interval: no A/A pair of this engine"


@dataclass(frozen=True)
class Effect:
    """Time of a cell over the time of its reference. All but the counts are ratios.

    Attributes:
        value: the median over pairs.
        low, high: 99 % interval; None for the reason in `reason`.
        low_90, high_90: 90 % interval, for "same"; None where `low` is.
        passes, pairs: that it comes from.
        reason: why there is no interval.
    """

    value: float
    low: float | None
    high: float | None
    low_90: float | None
    high_90: float | None
    passes: int
    pairs: int
    reason: str | None = None

    @property
    def half_width(self) -> float | None:
        """Half of the 99 % interval's width, of logarithms: 0.02 is about x/÷ 1.02."""
        if self.low is None or self.high is None:
            return None
        return math.log(self.high / self.low) / 2

    @property
    def same_within(self) -> float | None:
        """The least ratio that two one-sided tests at 5 % tell it to be within, both ways."""
        if self.low_90 is None or self.high_90 is None:
            return None
        return max(self.high_90, 1 / self.low_90)

    @property
    def is_of_one_pair(self) -> bool:
        """Whether no other pair agrees: what hit one of its blocks alone would be the effect."""
        return self.pairs < 2

    @property
    def half_width_90(self) -> float | None:
        """The same of the 90 % interval."""
        if self.low_90 is None or self.high_90 is None:
            return None
        return math.log(self.high_90 / self.low_90) / 2


def effect(passes: Sequence[Pass], noise: EngineNoise | None) -> Effect:
    """The effect of one cell.

    The value is the median over pairs. With several passes each pair has its pass's weight over
    its pass's pairs, and a pass weighs by the inverse of its variance: equal passes make it the
    plain median. The interval is that of the model (`model`), with what the noise says beforehand
    of the scales and nothing of the effect.

    Args:
        passes: of the cell, in any order.
        noise: of its engine in this session, from `noise.learn`; None gives no interval.

    Raises:
        ValueError: there is no pass.
    """
    if not passes:
        raise ValueError("an effect without a pass")
    pairs = sum(len(pass_.log_ratios) for pass_ in passes)
    middle = _weighted_median(passes, noise)
    if noise is None:
        value = math.exp(middle)
        return Effect(value, None, None, None, None, len(passes), pairs, NO_NOISE)
    workers = np.hypot(noise.workers, model.growth(passes))
    thetas = model.thetas(passes, noise.block, _worker(passes, noise))
    likely = model.likelihood(passes, thetas, noise.blocks, workers) @ noise.block_weights
    density = noise.worker_weights @ likely
    low, low_90, high_90, high = _quantiles(thetas, density)
    # Half of few pairs may lie on one side of what is likely: the value is still within.
    low, high = min(low, middle), max(high, middle)
    return Effect(
        math.exp(middle),
        math.exp(low),
        math.exp(high),
        math.exp(low_90),
        math.exp(high_90),
        len(passes),
        pairs,
    )


def _weighted_median(passes: Sequence[Pass], noise: EngineNoise | None) -> float:
    """The value where half of the pairs' weight lies below, or the middle of two such values."""
    values = np.concatenate([pass_.log_ratios for pass_ in passes])
    weights = np.concatenate(_weights(passes, noise))
    order = np.argsort(values)
    values, below = values[order], np.cumsum(weights[order]) / np.sum(weights)
    rounding = 1e-9
    first = int(np.searchsorted(below, 0.5 - rounding))
    second = int(np.searchsorted(below, 0.5 + rounding))
    return float(values[first] + values[second]) / 2


def _weights(passes: Sequence[Pass], noise: EngineNoise | None) -> list[Array]:
    """Of each pair of each pass, as above; all alike where nothing is known of the noise."""
    counts = [len(pass_.log_ratios) for pass_ in passes]
    if noise is None:
        return [np.ones(pairs) for pairs in counts]
    of_w, of_block = _worker(passes, noise) ** 2, model.MEDIAN_VARIANCE * noise.block**2
    return [np.full(pairs, 1 / (of_w + of_block / pairs) / pairs) for pairs in counts]


def _worker(passes: Sequence[Pass], noise: EngineNoise) -> float:
    """How far a pass of this cell is typically off, in the terms of `EngineNoise.worker`."""
    return math.hypot(noise.worker, model.WORKER_SD * model.growth(passes))


def _quantiles(thetas: Array, density: Array) -> tuple[float, ...]:
    """The ends of both intervals, in rising order."""
    steps = np.diff(thetas) * (density[1:] + density[:-1]) / 2
    below = np.concatenate(([0.0], np.cumsum(steps)))
    tails = [(1 - LEVEL) / 2, (1 - EQUIVALENCE_LEVEL) / 2]
    levels = [*tails, *(1 - tail for tail in reversed(tails))]
    return tuple(float(end) for end in np.interp(levels, below / below[-1], thetas))
