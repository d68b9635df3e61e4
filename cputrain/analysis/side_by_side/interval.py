"""The interval of a step time, and of its ratio to another: a bootstrap over workers, then steps.

A cell's step time is given: the median over its samples. Without one, the median over its
workers of the median over a worker's steps stands for it.
Each draw moves every worker by a worker effect (log-normal, spread from `spread`) and
takes its steps anew from those measured (Davison & Hinkley 1997, ch. 3: hierarchical
resampling), then takes the same medians. The seed is fixed: the same results give the
same intervals.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from cputrain.analysis.side_by_side import spread
from cputrain.analysis.side_by_side.spread import Array

LEVEL = 0.99
DRAWS = 4000
SEED = 20261121
TOO_FEW = "no interval: too few workers in the session"


@dataclass(frozen=True)
class Measured:
    """The steps of one cell.

    Attributes:
        steps: seconds of each timed step, worker by worker.
        like: cells of equal `like` ran the same experiment: their workers are replicates.
        pool: cells of equal `pool` may learn the spread of workers from one another.
        step_s: the cell's step time, where it is not that of its workers' medians.
    """

    steps: tuple[tuple[float, ...], ...]
    like: Hashable
    pool: Hashable
    step_s: float | None = None


@dataclass(frozen=True)
class Interval:
    """A value with its 99 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """A cell's step time in seconds; no interval where nothing tells how far workers differ.

    Attributes:
        interval: 99 %, or None for the reason in `reason`.
    """

    step_s: float
    interval: Interval | None
    reason: str | None = None


def estimates(measured: Sequence[Measured]) -> list[Estimate]:
    """The step time of every cell of one machine, in their order."""
    spreads: dict[Hashable, dict[Hashable, Array] | None] = {}
    for number, pool in enumerate(dict.fromkeys(cell.pool for cell in measured)):
        groups: dict[Hashable, list[float]] = {}
        for cell in measured:
            if cell.pool == pool:
                groups.setdefault(cell.like, []).extend(_log_medians(cell))
        spreads[pool] = spread.draw(groups, DRAWS, np.random.default_rng([SEED, number]))
    made = []
    for number, cell in enumerate(measured):
        by_group = spreads[cell.pool]
        rng = np.random.default_rng([SEED, number, 1])
        made.append(_estimate(cell, None if by_group is None else by_group[cell.like], rng))
    return made


def _log_medians(cell: Measured) -> list[float]:
    return [float(np.log(np.median(steps))) for steps in cell.steps]


def _estimate(cell: Measured, sigma: Array | None, rng: np.random.Generator) -> Estimate:
    medians = np.array([np.median(steps) for steps in cell.steps])
    step_s = float(np.median(medians)) if cell.step_s is None else cell.step_s
    if sigma is None:
        return Estimate(step_s, None, TOO_FEW)
    within = np.stack([_within(np.asarray(steps), rng) for steps in cell.steps])
    # Workers' medians differ by their steps' noise too: it is not to be counted twice.
    between = np.sqrt(np.maximum(sigma**2 - within.var(axis=1).mean(), 0.0))
    moved = rng.standard_normal(within.shape) * between + within
    logs = np.log(step_s) + np.median(moved, axis=0)
    return Estimate(step_s, _interval(step_s, logs))


def _within(steps: Array, rng: np.random.Generator) -> Array:
    """How far the log median of a worker's steps moves when they are drawn anew."""
    drawn = steps[rng.integers(0, len(steps), size=(DRAWS, len(steps)))]
    return np.asarray(np.log(np.median(drawn, axis=1) / np.median(steps)), dtype=np.float64)


def _interval(value: float, logs: Array) -> Interval:
    low, high = np.exp(np.quantile(logs, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    # A skewed draw of few steps may leave the value itself outside.
    return Interval(value, min(float(low), value), max(float(high), value))
