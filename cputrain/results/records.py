"""Finds and reads the run records under output/: each whole and checked, or one line of why not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cputrain import paths
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.run.names import CLAIMS, SUITE

BESIDE_SUITES = (SUITE, CLAIMS)
"""Folders of records that are no suite's."""
FILE = "run.json"
RESERVED = {paths.asv_results(mode).name for mode in paths.MODES}
"""Folders of result/ that are asv's: no machine's."""


@dataclass(frozen=True)
class Problem:
    """A file that cannot be used, and why, in one line."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True)
class Unusable:
    """A cell whose record cannot be read: what its folders are called, and why."""

    suite: str
    cell: str
    problem: Problem


def folders(parent: Path) -> list[str]:
    """Names of the folders in `parent`, sorted; symbolic links are not followed."""
    try:
        with os.scandir(parent) as entries:
            return sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []


def machines(root: Path) -> tuple[list[str], list[Problem]]:
    """The machines that have records, and folders of output/ that cannot be a machine's."""
    names = [
        name
        for name in folders(root / "output")
        if any(any(_files(root, name, mode)) for mode in paths.MODES)
    ]
    problems = [
        Problem(root / "output" / name, f"no machine can be called {name}; rename the folder")
        for name in names
        if name in RESERVED
    ]
    return [name for name in names if name not in RESERVED], problems


def read(
    root: Path, machine: str, mode: str, only: str | None = None
) -> tuple[list[CellRecord], list[Unusable]]:
    """Every record of a machine's full or quick sweeps.

    Args:
        root: of data and results.
        machine: whose.
        mode: full or quick.
        only: those of this folder; all suites where left out, and none of `BESIDE_SUITES`.
    """
    usable: list[CellRecord] = []
    unusable: list[Unusable] = []
    for path in _files(root, machine, mode):
        suite, cell = path.parent.parent.name, path.parent.name
        if suite in BESIDE_SUITES if only is None else suite != only:
            continue
        record = read_file(path, machine)
        if isinstance(record, Problem):
            unusable.append(Unusable(suite, cell, record))
        else:
            usable.append(record)
    return usable, unusable


def read_file(path: Path, machine: str | None = None) -> CellRecord | Problem:
    """One run record. Its names have to be those of the folders that it was found in.

    Args:
        path: of the file, in a folder of its cell in one of its suite.
        machine: whose it is to be; None takes anybody's.
    """
    try:
        record = files.read(path, CellRecord, SCHEMA)
    except OSError as error:
        return Problem(path, f"cannot be read: {error.strerror}")
    except files.RecordError as error:
        return Problem(path, str(error))
    named = [(record.key.name, path.parent.name), (record.key.suite, path.parent.parent.name)]
    if machine is not None:
        named += [(worker.machine, machine) for worker in record.workers]
    for inside, outside in named:
        if inside != outside:
            reason = f"it is of {inside[:60]!r} and lies in the folder of {outside!r}"
            return Problem(path, f"{reason}; delete it, or move it where it belongs")
    return record


def _files(root: Path, machine: str, mode: str) -> Iterator[Path]:
    """Where there is something called run.json."""
    suites = root / "output" / machine
    if machine not in folders(suites.parent):
        return
    if mode == "quick":
        if "quick" not in folders(suites):
            return
        suites = suites / "quick"
    for suite in folders(suites):
        for cell in folders(suites / suite):
            path = suites / suite / cell / FILE
            if os.path.lexists(path):
                yield path
