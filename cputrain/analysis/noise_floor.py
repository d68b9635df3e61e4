"""How far identical experiments lie apart on a machine: below that, no effect is believed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from cputrain.analysis import by_engine, interval
from cputrain.analysis.interval import Estimate, Interval
from cputrain.results.rows import CellResult

SUITE = "Baseline"
"""The A/A suite: the same experiment in every cell."""


def floors(cells: Iterable[tuple[CellResult, float]]) -> dict[str | None, float]:
    """By engine: `floor` of its A/A cells and their step times; engines that have one."""
    times: dict[str | None, list[float]] = {}
    for cell, step_s in cells:
        if cell.suite == SUITE:
            times.setdefault(by_engine.engine(cell), []).append(step_s)
    known = {engine: floor(step_s) for engine, step_s in times.items()}
    return {engine: noise for engine, noise in known.items() if noise is not None}


def of_engine(floors: Mapping[str | None, float], engine: str | None) -> float | None:
    """The floor for a cell of `engine`: its own, else the largest that is known."""
    return floors.get(engine, max(floors.values(), default=None))


def floor(step_s: Sequence[float]) -> float | None:
    """The largest ratio between two cells of the A/A suite, less 1; None with fewer than two."""
    if len(step_s) < 2:
        return None
    return max(step_s) / min(step_s) - 1


@dataclass(frozen=True)
class Pairs:
    """How many of `all` pairs of A/A cells the interval calls different, wrongly so."""

    different: int
    all: int


def pairs(cells: Sequence[tuple[CellResult, Estimate]]) -> Pairs:
    """Compare every two A/A cells of one engine; pairs without an interval do not count."""
    effects = [
        interval.effect(first, second)
        for (cell, first), (other, second) in combinations(cells, 2)
        if by_engine.engine(cell) == by_engine.engine(other)
    ]
    known = [effect for effect in effects if effect is not None]
    return Pairs(sum(effect.high < 1 or effect.low > 1 for effect in known), len(known))


def is_above(effect: Interval | None, noise: float | None) -> bool | None:
    """Whether an effect's interval excludes 1 and the effect exceeds the floor; None if unknown."""
    if effect is None or noise is None:
        return None
    differs = effect.high < 1 or effect.low > 1
    return differs and abs(math.log(effect.value)) > math.log1p(noise)
