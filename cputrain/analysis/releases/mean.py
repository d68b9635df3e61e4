"""The geometric mean of several cells' ratios, with an interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.paired.effect import Effect

ALL = ""
"""The name of the mean over all cells."""


@dataclass(frozen=True)
class Mean:
    """A geometric mean of ratios.

    Attributes:
        low, high: 99 % interval of the mean of these cells; None where one of them has none.
        cells: that it is of.
    """

    value: float
    low: float | None
    high: float | None
    cells: int


def geometric(effects: Sequence[Effect], common: float) -> Mean:
    """The mean of one or more effects, each with the same weight.

    Workers of different cells are different processes, so what each effect is off by is
    independent of the others: how far their intervals reach below adds up as the root of the sum of
    squares, over their number, and so does how far above. What A/A pairs are off by on average may
    be so in every cell and does not average out: it widens the interval as a whole. It says nothing
    of cells that were not measured.

    Args:
        effects: of the cells.
        common: natural logarithm, 0 or more: what all may be off by alike, A/A pairs on average.
    """
    count = len(effects)
    middle = sum(math.log(each.value) for each in effects) / count
    below, above = 0.0, 0.0
    for each in effects:
        if each.low is None or each.high is None:
            return Mean(math.exp(middle), None, None, count)
        below = math.hypot(below, math.log(each.value / each.low))
        above = math.hypot(above, math.log(each.high / each.value))
    low, high = middle - below / count - common, middle + above / count + common
    return Mean(math.exp(middle), math.exp(low), math.exp(high), count)


def by_suite(effects: Sequence[tuple[str, Effect, float]], common: float) -> dict[str, Mean]:
    """Of all cells (`ALL`), and of each suite with several of them and not all.

    Args:
        effects: suite and effect of each cell, and the ratio that it may be off by for a doubt.
        common: see `geometric`.
    """
    suites: dict[str, list[tuple[Effect, float]]] = {}
    for suite, each, off_by in effects:
        suites.setdefault(suite, []).append((each, off_by))
    means = {ALL: _doubted([own[1:] for own in effects], common)} if effects else {}
    several = {name: own for name, own in suites.items() if 1 < len(own) < len(effects)}
    return means | {name: _doubted(own, common) for name, own in several.items()}


def _doubted(effects: Sequence[tuple[Effect, float]], common: float) -> Mean:
    """Their mean. Doubts of several cells may have one cause, so they do not average out either."""
    off_by = statistics.mean(math.log(each) for _, each in effects)
    return geometric([each for each, _ in effects], common + off_by)
