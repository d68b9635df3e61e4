"""How many times as long one machine takes as another: by suite, and over all suites of an engine.

A ratio is the geometric mean over equal experiments of the first machine's step time over the
other one's, each at its machine's usual speed (`usual`). Its interval has how well that speed is
known (`wander`), and the effects' own intervals; variances of logarithms add up, with degrees of
freedom by Satterthwaite (1946, Biometrics Bulletin 2-6).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy import special

from cputrain.analysis.machines.equal import Equal
from cputrain.analysis.machines.machine import Machine
from cputrain.analysis.machines.sides import Side, side

LEVEL = 0.99
MANY = 1e6
"""Degrees of freedom of what is known well enough."""
LEAST = 0.001
"""Standard deviation of a logarithm that no suite is weighed as surer than."""
WIDEST = 10.0
"""Factor from a ratio to the ends of its interval above which the interval tells nothing."""


@dataclass(frozen=True)
class Ratio:
    """Time on the first machine over time on the other one.

    Attributes:
        low, high: 99 % interval; None for the reason in `reason`.
        cells, suites: equal experiments that it comes from, each that ran once.
    """

    engine: str
    value: float
    low: float | None
    high: float | None
    cells: int
    suites: int
    reason: str | None = None
    suite: str | None = None

    @property
    def verdict(self) -> str:
        """What is said of the first machine."""
        if self.low is None or self.high is None or self.low <= 1 <= self.high:
            return "not told"
        return "slower" if self.low > 1 else "faster"


def by_suite(first: Machine, other: Machine, equal: Sequence[Equal]) -> list[Ratio]:
    """A ratio for each suite and engine, in their order."""
    groups: dict[tuple[str, str], list[Equal]] = {}
    for pair in equal:
        if pair.counts:
            groups.setdefault((pair.suite, pair.engine), []).append(pair)
    return [
        _ratio(_sides(first, other, [pairs], [1.0]), engine, [pairs], suite)
        for (suite, engine), pairs in groups.items()
    ]


def by_engine(first: Machine, other: Machine, equal: Sequence[Equal]) -> list[Ratio]:
    """A ratio for each engine: the geometric mean over its suites, the surest weighing most.

    Cells without a pair that counts on both machines are in none: they ran at any speed.
    """
    groups: dict[str, dict[str, list[Equal]]] = {}
    for pair in equal:
        if pair.counts and is_paired(first, other, pair):
            groups.setdefault(pair.engine, {}).setdefault(pair.suite, []).append(pair)
    return [_mean(first, other, engine, [*suites.values()]) for engine, suites in groups.items()]


def is_paired(first: Machine, other: Machine, pair: Equal) -> bool:
    """Whether a cell has pairs that count on both machines."""
    usual = first.references.usual(*pair.first), other.references.usual(*pair.other)
    return None not in usual


def _mean(first: Machine, other: Machine, engine: str, suites: Sequence[Sequence[Equal]]) -> Ratio:
    """The mean over suites; one without an interval is left out where another one has one."""
    kept, logs, variances = [], [], []
    for pairs in suites:
        on_first, on_other = _sides(first, other, [pairs], [1.0])
        if on_first.spread is not None and on_other.spread is not None:
            kept.append(pairs)
            logs.append(on_first.log_s - on_other.log_s)
            variances.append(max(on_first.spread + on_other.spread, LEAST**2))
    if not kept:
        return _ratio(_sides(first, other, suites, [1.0] * len(suites)), engine, suites)
    return _ratio(_sides(first, other, kept, _weights(logs, variances)), engine, kept)


def _weights(logs: Sequence[float], variances: Sequence[float]) -> list[float]:
    """The inverse of each suite's variance, with what suites differ by beyond theirs in each.

    That is by DerSimonian & Laird (1986, Controlled Clinical Trials 7-3): suites that differ by
    more than they are unsure by weigh alike.
    """
    weights = [1 / variance for variance in variances]
    total = math.fsum(weights)
    mean = math.fsum(w * log for w, log in zip(weights, logs, strict=True)) / total
    beyond = math.fsum(w * (log - mean) ** 2 for w, log in zip(weights, logs, strict=True))
    beyond -= len(logs) - 1
    apart = total - math.fsum(w**2 for w in weights) / total
    between = max(0.0, beyond / apart) if len(logs) > 1 else 0.0
    return [1 / (variance + between) for variance in variances]


def _sides(
    first: Machine, other: Machine, suites: Sequence[Sequence[Equal]], weights: Sequence[float]
) -> tuple[Side, Side]:
    """Both machines' means over suites of the mean over their cells, of logarithms."""
    total = math.fsum(weights)
    each = [w / total / len(pairs) for pairs, w in zip(suites, weights, strict=True) for _ in pairs]
    every = [pair for pairs in suites for pair in pairs]
    return (
        side(first, [pair.first for pair in every], each),
        side(other, [pair.other for pair in every], each),
    )


def _ratio(
    sides: tuple[Side, Side],
    engine: str,
    suites: Sequence[Sequence[Equal]],
    suite: str | None = None,
) -> Ratio:
    value = sides[0].log_s - sides[1].log_s
    counts = sum(map(len, suites)), len(suites)
    parts = [part for its in sides for part in (*its.drift, (its.effects, MANY))]
    known = [(variance, free) for variance, free in parts if variance is not None]
    if len(known) < len(parts):
        return Ratio(engine, math.exp(value), None, None, *counts, _why_none(sides), suite)
    half = _half(known)
    if half > math.log(WIDEST):
        why = f"no interval: it would reach beyond a factor of {WIDEST:g}"
        return Ratio(engine, math.exp(value), None, None, *counts, why, suite)
    ends = math.exp(value - half), math.exp(value + half)
    return Ratio(engine, math.exp(value), *ends, *counts, None, suite)


def _why_none(sides: Sequence[Side]) -> str:
    """Why a ratio has no interval, by the machines that lack something."""
    drifting = [its.name for its in sides if any(variance is None for variance, _ in its.drift)]
    bare = [its.name for its in sides if its.effects is None]
    why = [f"too few moments of {' and '.join(drifting)} tell its drift"] if drifting else []
    why += [f"not every effect on {' and '.join(bare)} has one"] if bare else []
    return f"no interval: {'; '.join(why)}"


def _half(parts: Iterable[tuple[float, float]]) -> float:
    """Half of the interval's width, of variances with their degrees of freedom."""
    known = [(variance, degrees) for variance, degrees in parts if variance > 0]
    total = math.fsum(variance for variance, _ in known)
    if total == 0:
        return 0.0
    degrees = total**2 / math.fsum(variance**2 / free for variance, free in known)
    return float(special.stdtrit(degrees, 0.5 + LEVEL / 2)) * math.sqrt(total)
