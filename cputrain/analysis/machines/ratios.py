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

from cputrain.analysis.ends import CellRow
from cputrain.analysis.machines.equal import Equal
from cputrain.analysis.machines.machine import Machine
from cputrain.analysis.machines.usual import Reference
from cputrain.analysis.machines.wander import Wander

LEVEL = 0.99
MANY = 1e6
"""Degrees of freedom of what is known well enough."""


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


@dataclass(frozen=True)
class _Side:
    """What one machine says.

    Attributes:
        log_s: mean logarithm of a step.
        drift: variances of how well its usual speed is known, with their degrees of freedom; None
            where too few moments tell one.
        effects: variance of its effects; None where one of them has no interval.
    """

    name: str
    log_s: float
    drift: list[tuple[float | None, float]]
    effects: float | None


def by_suite(first: Machine, other: Machine, equal: Sequence[Equal]) -> list[Ratio]:
    """A ratio for each suite and engine, in their order."""
    groups: dict[tuple[str, str], list[Equal]] = {}
    for pair in equal:
        if not pair.repeats:
            groups.setdefault((pair.suite, pair.engine), []).append(pair)
    return [
        _ratio(first, other, engine, [pairs], suite) for (suite, engine), pairs in groups.items()
    ]


def by_engine(first: Machine, other: Machine, equal: Sequence[Equal]) -> list[Ratio]:
    """A ratio for each engine: the geometric mean over its suites, each of the same weight."""
    groups: dict[str, dict[str, list[Equal]]] = {}
    for pair in equal:
        if not pair.repeats:
            groups.setdefault(pair.engine, {}).setdefault(pair.suite, []).append(pair)
    return [
        _ratio(first, other, engine, list(suites.values())) for engine, suites in groups.items()
    ]


def _ratio(
    first: Machine,
    other: Machine,
    engine: str,
    suites: Sequence[Sequence[Equal]],
    suite: str | None = None,
) -> Ratio:
    """The mean over suites of the mean over their cells, of logarithms."""
    weights = [1 / (len(suites) * len(pairs)) for pairs in suites for _ in pairs]
    every = [pair for pairs in suites for pair in pairs]
    sides = (
        _side(first, [pair.first for pair in every], weights),
        _side(other, [pair.other for pair in every], weights),
    )
    value = sides[0].log_s - sides[1].log_s
    counts = len(every), len(suites)
    parts = [part for side in sides for part in (*side.drift, (side.effects, MANY))]
    known = [(variance, free) for variance, free in parts if variance is not None]
    if len(known) < len(parts):
        return Ratio(engine, math.exp(value), None, None, *counts, _why_none(sides), suite)
    half = _half(known)
    ends = math.exp(value - half), math.exp(value + half)
    return Ratio(engine, math.exp(value), *ends, *counts, None, suite)


def _why_none(sides: Sequence[_Side]) -> str:
    """Why a ratio has no interval, by the machines that lack something."""
    drifting = [side.name for side in sides if any(variance is None for variance, _ in side.drift)]
    bare = [side.name for side in sides if side.effects is None]
    why = [f"too few moments of {' and '.join(drifting)} tell its drift"] if drifting else []
    why += [f"not every effect on {' and '.join(bare)} has one"] if bare else []
    return f"no interval: {'; '.join(why)}"


def _side(machine: Machine, cells: Sequence[CellRow], weights: Sequence[float]) -> _Side:
    """One machine's.

    A reference is off by the same in all cells that were measured beside it. A cell without a pair
    that counts is as it was measured, at any speed that the machine had. What one reference's
    moments tell of several is one estimate, and may be of the same minutes: their shares add up.
    """
    total, effects = 0.0, 0.0
    has_intervals = True
    shares: dict[str, float] = {}
    at_any_speed = 0.0
    for (cell, row), weight in zip(cells, weights, strict=True):
        usual = machine.references.usual(cell, row)
        if usual is None:
            total += weight * math.log(cell.step_s or 1.0)
            at_any_speed += weight
            continue
        total += weight * usual.log_s
        if usual.variance is None:
            has_intervals = False
        else:
            effects += weight**2 * usual.variance
        shares[usual.reference] = shares.get(usual.reference, 0.0) + weight
    parts = [(share, machine.references.by_name[name]) for name, share in shares.items()]
    if at_any_speed:
        parts.append((at_any_speed, machine.references.at_any_speed))
    return _Side(machine.name, total, _drift(parts), effects if has_intervals else None)


def _drift(parts: Iterable[tuple[float, Reference]]) -> list[tuple[float | None, float]]:
    """Variances of several references' usual speeds, each with its share of the mean."""
    known: dict[Wander | None, tuple[float, float]] = {}
    for share, reference in parts:
        if reference.variance is None:
            return [(None, 1.0)]
        sd, _ = known.get(reference.wander, (0.0, 1.0))
        sd += share * math.sqrt(reference.variance)
        known[reference.wander] = sd, reference.degrees
    return [(sd**2, degrees) for sd, degrees in known.values()]


def _half(parts: Iterable[tuple[float, float]]) -> float:
    """Half of the interval's width, of variances with their degrees of freedom."""
    known = [(variance, degrees) for variance, degrees in parts if variance > 0]
    total = math.fsum(variance for variance, _ in known)
    if total == 0:
        return 0.0
    degrees = total**2 / math.fsum(variance**2 / free for variance, free in known)
    return float(special.stdtrit(degrees, 0.5 + LEVEL / 2)) * math.sqrt(total)
