"""What a cell's work is beside its baseline's: counts of tokens and FLOPs, and how time grows.

The counts are of the experiments, so that a time per token is the paired effect times a ratio of
counts: no measured time is divided by one of another minute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cputrain.analysis import by_engine
from cputrain.analysis.ends import Measured
from cputrain.record.work import Counts
from cputrain.results.rows import CellResult

ALIKE = 0.01
"""FLOPs by the usual formula that differ by less are the same work."""
FEWEST, RANGE = 3, 2.0
"""Sizes that an exponent is fitted to at least, and the largest over the smallest of them."""


@dataclass(frozen=True)
class Scale:
    """A cell's size beside its baseline's, as ratios.

    Attributes:
        tokens: of a step; flops: that a step executes.
        formula: FLOPs by the usual formula, which knows no shortcut.
    """

    tokens: float
    flops: float
    formula: float

    @property
    def is_same(self) -> bool:
        """Whether it is the same work."""
        return self.tokens == 1 and abs(math.log(self.formula)) < ALIKE


def scale(cell: CellResult, baseline: CellResult | None) -> Scale | None:
    """The size of a cell beside that of its reference; None where one of them has no counts.

    Args:
        cell: with a number.
        baseline: what its reference runs as, where the cell's own record does not say.
    """
    own = counts(cell)
    base = cell.workers[-1].reference_counts if own is not None else None
    if base is None and baseline is not None:
        base = counts(baseline)
    if own is None or base is None:
        return None
    names = ("tokens_per_step", "flops_per_step", "flops_formula")
    if not all(getattr(each, name) for each in (own, base) for name in names):
        return None
    return Scale(*(getattr(own, name) / getattr(base, name) for name in names))


def counts(cell: CellResult) -> Counts | None:
    """The counts of a cell's experiment; None of one that has no number."""
    return cell.workers[-1].counts if cell.ok and cell.workers else None


def sizes(cells: Sequence[CellResult]) -> Mapping[str, float]:
    """By name, what each cell of a suite is as a number: its value, else its parameters.

    Empty where neither is a size: values that are no numbers, of models about as large.
    """
    values = {cell.name: by_engine.settings(cell) for cell in cells if cell.values}
    if all(len(v) == 1 and type(v[0]) in (int, float) and v[0] > 0 for v in values.values()):
        known = {name: float(value) for name, (value,) in values.items()}
    else:
        known = {c.name: float(own.n_params) for c in cells if (own := counts(c)) is not None}
    positive = {name: size for name, size in known.items() if size > 0}
    spread = max(positive.values(), default=1.0) / min(positive.values(), default=1.0)
    return positive if spread >= RANGE else {}


def exponent(cells: Sequence[Measured]) -> float | None:
    """k of time ~ size^k over one engine's cells: least squares through the logarithms.

    None with fewer than `FEWEST` sizes.
    """
    size = sizes([entry.cell for entry in cells])
    points = [(size[entry.cell.name], entry.effect) for entry in cells if entry.cell.name in size]
    if len({x for x, _ in points}) < FEWEST:
        return None
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])
