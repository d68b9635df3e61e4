"""What cells were measured beside, and whether their suite has that baseline still.

It has another one once somebody has changed its `base`, or its values. A sweep may have no time for
all of its cells then, and effects beside two baselines do not compare.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.results import stored
from cputrain.results.problem import Problem
from cputrain.run.references import FILE

Group = tuple[str, str | None]
"""Cells that have one baseline: a suite's, of one engine where that is a parameter."""


@dataclass(frozen=True)
class Beside:
    """What a cell was measured beside.

    Attributes:
        group: its suite, and its engine.
        baseline: its name; None without one.
        identity: of the experiment that ran beside the cell; None where no record says.
        session, started: of its newest worker; empty without one.
    """

    group: Group
    baseline: str | None
    identity: str | None
    session: str
    started: str

    def why_another(self, cell: Beside) -> str | None:
        """That a cell was measured beside another baseline than this; else, or without, None."""
        if cell.baseline is None:
            return None
        name = cell.baseline.removesuffix(f"-{cell.group[1]}")
        if cell.baseline != self.baseline:
            return f"measured beside another baseline ({name})"
        is_known = self.identity is not None and cell.identity is not None
        if is_known and cell.identity != self.identity:
            return f"measured beside another baseline than {name} is now"
        return None


def newest(cells: Iterable[Beside]) -> dict[Group, Beside]:
    """What the newest session of each group has beside its cells."""
    groups: dict[Group, list[Beside]] = {}
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    now = {}
    for group, its in groups.items():
        last = max(its, key=lambda cell: cell.started)
        known = (cell.identity for cell in its if cell.session == last.session)
        now[group] = replace(last, identity=next(filter(None, known), None))
    return now


def references(root: Path, machine: str, mode: str) -> tuple[dict[str, str], list[Problem]]:
    """By the names of workers that cells ran beside, the identities of their experiments.

    Args:
        root: of data and results.
        machine: whose.
        mode: full or quick.
    """
    known: dict[str, str] = {}
    problems = []
    for place in stored.find(root, machine, FILE, mode):
        try:
            record = place.read(CellRecord, SCHEMA)
        except OSError as error:
            problems.append(place.problem(f"cannot be read: {error.strerror}"))
        except files.RecordError as error:
            problems.append(place.problem(str(error)))
        else:
            known |= {worker.id: worker.identity for worker in record.workers}
    return known, problems
