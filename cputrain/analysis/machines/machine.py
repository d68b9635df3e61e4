"""One machine as it is compared: its cells, what their pairs say, its facts, and how it drifts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cputrain.analysis.effects import Analysis, analyse
from cputrain.analysis.ends import CellRow
from cputrain.analysis.machines.usual import References, references
from cputrain.record.worker import WorkerRecord
from cputrain.results import machines, rows
from cputrain.results.problem import Problem


@dataclass(frozen=True)
class Machine:
    """One machine.

    Attributes:
        facts: asv's; empty where there are none.
        analysis: of its cells.
        references: what they were measured beside.
    """

    name: str
    facts: Mapping[str, Any]
    analysis: Analysis
    references: References

    @property
    def cells(self) -> list[CellRow]:
        """Its cells with their rows."""
        return list(zip(self.analysis.cells, self.analysis.rows, strict=True))

    @property
    def newest(self) -> list[WorkerRecord]:
        """The last worker of each cell that has a number, the newest of them first."""
        last = [cell.workers[-1] for cell in self.analysis.cells if cell.ok and cell.workers]
        return sorted(last, key=lambda worker: worker.started, reverse=True)


def read(root: Path, name: str) -> tuple[Machine, list[Problem]]:
    """A machine, and what of its records cannot be used.

    Args:
        root: of the project that has them.
        name: the machine's.
    """
    known, problems = machines.read(root, name)
    cells, broken = rows.read(root, name)
    analysis = analyse(cells, {})
    every = list(zip(analysis.cells, analysis.rows, strict=True))
    machine = Machine(name, known.facts, analysis, references(every))
    return machine, [*problems, *broken]
