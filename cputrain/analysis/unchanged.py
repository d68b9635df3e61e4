"""Whether two experiments train the same: the same model, on the same tokens, by the same update.

What differs then is which code does the work, on what, and how exactly it rounds.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult

FREE_PARTS = ("runtime", "system", "budget")
"""Parts of an experiment that say nothing of what is trained."""
FREE = ("precision", "activation_checkpointing", "loader", "loader_workers", "loader_queue")
"""Fields of its training that are about how it is computed. A precision rounds in its own way."""
BATCH = ("batch_size", "grad_accum")
"""What makes up the batch of one update: only their product says what is trained."""

Parts = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Setting:
    """A cell that has a number and trains what its suite's baseline trains, which is `base`."""

    cell: CellResult
    row: Row
    base: CellResult

    @property
    def is_of_default(self) -> bool:
        """Whether the baseline is the default experiment."""
        return bool(self.base.workers) and self.base.workers[-1].identity == _usual()


@functools.cache
def _usual() -> str:
    """The identity of the default experiment."""
    return specs.settle(Experiment()).identity


def settings(cells: Sequence[CellRow]) -> list[Setting]:
    """The settings among the cells of one machine, in their order."""
    by_name = {cell.name: cell for cell, _ in cells}
    kept = []
    for cell, row in cells:
        base = by_name.get(f"{cell.suite}/{cell.key.baseline}")
        if base is None or not cell.ok or identical.is_identical(cell):
            continue
        if is_unchanged(cell.experiment, base.experiment):
            kept.append(Setting(cell, row, base))
    return kept


def is_unchanged(experiment: Parts, reference: Parts) -> bool:
    """Whether both train the same.

    Args:
        experiment, reference: as records have them, parts of fields.
    """
    fields = differing(experiment, reference)
    trained = {
        name
        for part, names in fields.items()
        for name in names
        if part not in FREE_PARTS and name not in (*FREE, *BATCH)
    }
    return not trained and _batch(experiment) == _batch(reference)


def differing(experiment: Parts, reference: Parts) -> dict[str, dict[str, Any]]:
    """The fields that differ, part by part, as `experiment` has them."""
    return {
        part: {
            name: fields.get(name)
            for name in {**fields, **reference.get(part, {})}
            if fields.get(name) != reference.get(part, {}).get(name)
        }
        for part, fields in experiment.items()
        if fields != reference.get(part)
    }


def _batch(experiment: Parts) -> int:
    training = experiment.get("training", {})
    return int(training.get("batch_size", 1)) * int(training.get("grad_accum", 1))
