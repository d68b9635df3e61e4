"""Reads what `asv run A..B` has measured of other commits than HEAD: .asv/asv-run/<commit>/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain import paths
from cputrain.results import rows, stored
from cputrain.results.problem import Problem
from cputrain.results.records import FILE, RESERVED
from cputrain.results.rows import CellResult
from cputrain.wording import counted


@dataclass(frozen=True)
class Commit:
    """One commit's cells on one machine.

    Attributes:
        commit: its first twelve digits.
        cells: in the order of the tables.
    """

    commit: str
    cells: Sequence[CellResult]

    @property
    def measured(self) -> str:
        """The day when its first worker started."""
        return min((w.started for cell in self.cells for w in cell.workers), default="")[:10]


def folders(root: Path) -> dict[str, Path]:
    """By commit, a folder with output/ as the project's own has it."""
    parent = root / paths.STATE.name / paths.OTHER_COMMITS
    if parent.is_symlink():
        return {}
    return {name: parent / name for name in stored.folders(parent)}


def machines(root: Path) -> list[str]:
    """The machines that other commits were measured on."""
    every = {
        name
        for folder in folders(root).values()
        for name in stored.folders(folder / "output")
        if any(stored.loose(folder / "output" / name, FILE))
    }
    return sorted(every - RESERVED)


def read(root: Path, machine: str) -> tuple[list[Commit], list[Problem]]:
    """What was measured of other commits on a machine, the first measured first."""
    commits, problems = [], []
    for name, folder in folders(root).items():
        cells, unread = rows.read(folder, machine)
        if unread:  # of a commit with other records, that is all of them
            problem = f"{counted(len(unread), 'file')} of it cannot be used"
            problems.append(Problem(folder, f"{problem}: {unread[0].reason}"))
        if cells:
            commits.append(Commit(name, cells))
    return sorted(commits, key=lambda its: (its.measured, its.commit)), problems
