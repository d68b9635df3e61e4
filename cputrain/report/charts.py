"""Scales: where values lie, in the units of an SVG's view box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


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
    margin = 0.05 * (high - low) if high - low > 1e-6 else 0.5
    return Scale(low - margin, high + margin, start, end, is_log=False)
