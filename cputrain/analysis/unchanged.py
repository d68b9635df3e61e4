"""Settings: cells that train what their suite's baseline trains (`experiment.same_work`)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.experiment.same_work import is_unchanged
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult


@dataclass(frozen=True)
class Setting:
    """A cell that has a number and trains what its suite's baseline trains, which is `base`."""

    cell: CellResult
    row: Row
    base: CellResult

    @property
    def is_of_default(self) -> bool:
        """Whether the baseline is the default experiment."""
        return runs_default(self.base)


def runs_default(cell: CellResult) -> bool:
    """Whether a cell runs the default experiment."""
    return bool(cell.workers) and cell.workers[-1].identity == _usual()


@functools.cache
def _usual() -> str:
    """The identity of the default experiment."""
    return specs.settle(Experiment()).identity


def settings(cells: Sequence[CellRow]) -> list[Setting]:
    """The settings among the cells of one machine, in their order.

    Not what ran beside another release than the baseline's row is of.
    """
    by_name = {cell.name: cell for cell, _ in cells}
    kept = []
    for cell, row in cells:
        base = by_name.get(f"{cell.suite}/{cell.key.baseline}")
        if base is None or not cell.ok or identical.is_identical(cell):
            continue
        if identical.is_beside_other_release(cell, base):
            continue
        if is_unchanged(cell.experiment, base.experiment):
            kept.append(Setting(cell, row, base))
    return kept
