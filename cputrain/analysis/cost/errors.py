"""How far predictions lie off, of levels that they were not learned from; the interval of that.

Rows that share a level of a field resemble each other: leaving out one of them at a time would
only show that the others know it. So every level of every field that is not the default's is left
out as a whole, coefficients are learned from the rest, and its rows are predicted.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cputrain.analysis.cost.costs import LEVEL
from cputrain.analysis.cost.fit import Array, Rows

FEWEST = 8
"""Rows that have to be left to learn from, and to make an interval of."""

Learn = Callable[[Rows], Array]
"""Coefficients of some rows."""


@dataclass(frozen=True)
class LeftOut:
    """The error of a row that was predicted without its level.

    Attributes:
        row: its place.
        field, level: what was left out.
        error: natural logarithm of predicted over measured.
    """

    row: int
    field: str
    level: str
    error: float


def by_level(
    rows: Rows,
    levels: Mapping[str, Mapping[str, Sequence[bool]]],
    learn: Learn,
    to_predict: Rows | None = None,
) -> list[LeftOut]:
    """Errors of all rows whose level was left out.

    Args:
        rows: all that coefficients are learned from.
        levels: by field and level, which rows have it.
        learn: coefficients of some rows.
        to_predict: the same rows as they are predicted, where the rows to learn from have more
            than is known before a run; None is as they are learned from.
    """
    to_predict = rows if to_predict is None else to_predict
    left_out = []
    for field, its in levels.items():
        for level, has in its.items():
            out = np.asarray(has, dtype=bool)
            if not out.any() or (~out).sum() < FEWEST:
                continue
            errors = to_predict.only(out).errors(learn(rows.only(~out)))
            places = np.flatnonzero(out)
            left_out += [
                LeftOut(int(row), field, level, float(error))
                for row, error in zip(places, errors, strict=True)
            ]
    return left_out


def half_width(errors: Sequence[float]) -> float | None:
    """Of an interval of logarithms that holds one more such error with probability LEVEL.

    The smallest of n absolute errors that at least LEVEL (n + 1) of them do not exceed (split
    conformal prediction: Lei et al. 2018, JASA 113-523); None where they are too few.
    """
    n = len(errors)
    place = math.ceil(LEVEL * (n + 1))
    return None if n < FEWEST or place > n else sorted(abs(e) for e in errors)[place - 1]


def beyond(
    left_out: Sequence[LeftOut], fields: Sequence[str], half: float | None
) -> dict[str, float]:
    """Median error of each level of these fields that lies beyond the interval: "field level".

    Args:
        half: of the interval; None has none.
    """
    groups: dict[str, list[float]] = {}
    for each in left_out:
        if each.field in fields:
            groups.setdefault(f"{each.field} {each.level}", []).append(each.error)
    middle = {level: statistics.median(its) for level, its in groups.items()}
    return {} if half is None else {k: error for k, error in middle.items() if abs(error) > half}


def coverage(left_out: Sequence[LeftOut]) -> float | None:
    """Share of errors within the interval that rows without their level make; None without."""
    inside = total = 0
    groups: dict[tuple[str, str], list[LeftOut]] = {}
    for each in left_out:
        groups.setdefault((each.field, each.level), []).append(each)
    for its in groups.values():
        rows = {each.row for each in its}
        half = half_width([each.error for each in left_out if each.row not in rows])
        if half is not None:
            total += len(its)
            inside += sum(abs(each.error) <= half for each in its)
    return inside / total if total else None


def quantile(errors: Sequence[float], share: float) -> float | None:
    """Of the absolute errors as ratios less 1: 0.05 is 5 % off; None without any."""
    if not errors:
        return None
    return math.expm1(float(np.quantile(np.abs(errors), share)))
