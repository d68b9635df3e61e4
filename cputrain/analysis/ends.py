"""Cells by their effects: one measured beside its reference, and how surely it differs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy import special

from cputrain.analysis.paired.effect import LEVEL
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult

CellRow = tuple[CellResult, Row]
"""A cell and its row."""

DEGREES = 5
"""Of freedom that each pass counts for, less one of all: what two workers differ by has a t
distribution with 4, and the product of such densities about one place is one with 5 n - 1."""


def log_sd(low: float, high: float, passes: int | None = None) -> float:
    """Standard deviation of an effect's logarithm, by its 99 % interval.

    Args:
        passes: that the effect comes from: of few the tails are long, and the normal distribution
            with the same quartiles is narrower than its ends say. None is so many that it is not.
    """
    half = math.log(high / low) / 2
    if passes is None:
        return half / float(special.ndtri((1 + LEVEL) / 2))
    degrees = DEGREES * passes - 1
    end, quartile = special.stdtrit(degrees, [(1 + LEVEL) / 2, 0.75])
    return half * float(quartile / end) / float(special.ndtri(0.75))


@dataclass(frozen=True)
class Measured:
    """A cell that has an effect.

    Attributes:
        effect: with its 99 % interval, None where there is none. A baseline has 1 by definition:
            what its pairs say is noise, and stands in its row.
    """

    cell: CellResult
    row: Row
    effect: float
    low: float | None
    high: float | None

    @property
    def surely(self) -> float:
        """How far the interval's end nearest to 1 is from it, in logarithms; 0 where it holds 1."""
        if self.low is None or self.high is None:
            return 0.0
        return max(math.log(self.low), -math.log(self.high), 0.0)

    @property
    def first_effect(self) -> float:
        """The effect by the first pass alone."""
        return 1.0 if self.cell.is_baseline else float(self.row["first_effect"])

    @property
    def is_faster_later(self) -> bool:
        """Whether the passes after the first, without it, call it faster."""
        high = None if self.cell.is_baseline else self.row["later_high"]
        return high is not None and high * _places_differ(self.row) < 1


def measured(cell: CellResult, row: Row) -> Measured | None:
    """A cell with its effect; None where it has none."""
    if not cell.ok:
        return None
    if cell.is_baseline:
        return Measured(cell, row, 1.0, 1.0, 1.0)
    effect = _ratio(row["effect"])
    return None if effect is None else Measured(cell, row, effect, *interval(row))


def interval(row: Row) -> tuple[float | None, float | None]:
    """The 99 % interval of a row's effect at the machine's usual place; None without one.

    Of a cell that was measured elsewhere alone it holds what the effect may differ by there.
    """
    low, high, differ = _ratio(row["effect_low"]), _ratio(row["effect_high"]), _places_differ(row)
    return low and low / differ, high and high * differ


def _places_differ(row: Row) -> float:
    return float(row.get("places_differ") or 1.0)


def is_confirmed(chosen: Measured, among: Iterable[Measured]) -> bool:
    """Whether passes that had no part in the choice of a value call it faster.

    Then the first pass alone names it, and the passes after it call it faster.

    Args:
        chosen: the value.
        among: all that it was chosen from, itself too.
    """
    first = min(among, key=lambda each: each.first_effect)
    return chosen is first and chosen.first_effect < 1 and chosen.is_faster_later


def _ratio(value: float | None) -> float | None:
    """None for what is no ratio."""
    return value if value is not None and 0 < value < math.inf else None
