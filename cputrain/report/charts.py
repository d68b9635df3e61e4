"""Places of what the report draws: scales, ticks, and points in the units of an SVG's view box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ROUND = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
"""First digits that a tick may have."""
MOST_TICKS = 7


@dataclass(frozen=True)
class Scale:
    """An axis: which value lies where.

    Attributes:
        low, high: the values at its ends; above 0 where it is logarithmic.
        start, end: the places of the ends.
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = True

    def place(self, value: float) -> float:
        """Where a value lies; one that is beyond an end lies at the end."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Round values within, `MOST_TICKS` at most; of a logarithmic axis 1 if that is within."""
        values = self._tens() if self.is_log else self._steps()
        while len(values) > MOST_TICKS:
            middle = values.index(1.0) if 1.0 in values else 0
            values = [value for i, value in enumerate(values) if (i - middle) % 2 == 0]
        return values

    def _tens(self) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        every = [digit * 10.0**power for power in range(first, last + 1) for digit in ROUND]
        return [value for value in every if self.low <= value <= self.high]

    def _steps(self) -> list[float]:
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        power = 10.0 ** math.floor(math.log10(span))
        step = next(s for s in (power / 5, power / 2, power, 2 * power) if span / s <= MOST_TICKS)
        first = math.ceil(self.low / step)
        return [i * step for i in range(first, math.floor(self.high / step) + 1)]


def around(values: Sequence[float], start: float, end: float, is_log: bool = True) -> Scale:
    """The scale that some values fill, with a margin; 1 is within a logarithmic one's values.

    Args:
        values: at least one; above 0 where it is logarithmic.
        start, end: places of its ends.
    """
    low, high = min(values), max(values)
    if is_log:
        margin = max((high / low) ** 0.04, 1.01)
        return Scale(low / margin, high * margin, start, end)
    margin = max(0.05 * (high - low), 1e-9)
    return Scale(low - margin, high + margin, start, end, is_log=False)


@dataclass(frozen=True)
class Line:
    """One series: its name, and its points as places of x and y."""

    name: str
    points: tuple[tuple[float, float], ...]

    @property
    def path(self) -> str:
        """The points of an SVG's polyline."""
        return " ".join(f"{x:g},{y:g}" for x, y in self.points)
