"""Finds and reads the run records under output/: each whole and checked, or one line of why not."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from cputrain import paths
from cputrain.engines import recorded
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.results import packed, stored
from cputrain.results.problem import Problem as Problem
from cputrain.results.stored import RecordPlace
from cputrain.results.stored import folders as folders
from cputrain.run.names import CLAIMS, SUITE

BESIDE_SUITES = (SUITE, CLAIMS)
"""Folders of records that are no suite's."""
FILE = "run.json"
RESERVED = {paths.asv_results(mode).name for mode in paths.MODES}
"""Folders of result/ that are asv's: no machine's."""


@dataclass(frozen=True)
class Unusable:
    """A cell whose record cannot be read: what its folders are called, and why."""

    suite: str
    cell: str
    problem: Problem


def machines(root: Path) -> tuple[list[str], list[Problem]]:
    """The machines that have records, and folders of output/ that cannot be a machine's."""
    output = root / "output"
    names = [
        name
        for name in folders(output)
        if os.path.lexists(output / name / packed.FILE)
        or any(any(stored.loose(output / name, FILE, mode)) for mode in paths.MODES)
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
    for place in stored.find(root, machine, FILE, mode):
        if place.suite in BESIDE_SUITES if only is None else place.suite != only:
            continue
        record = read_place(place, machine)
        if isinstance(record, Problem):
            unusable.append(Unusable(place.suite, place.cell, record))
        else:
            usable.append(record)
    return usable, unusable


def read_file(path: Path, machine: str | None = None) -> CellRecord | Problem:
    """`read_place` of a file of its own, in a folder of its cell in one of its suite."""
    return read_place(RecordPlace(path), machine)


def read_place(place: RecordPlace, machine: str | None = None) -> CellRecord | Problem:
    """One run record. Its names have to be those of the folders that it was found in.

    Args:
        place: of the record.
        machine: whose it is to be; None takes anybody's.
    """
    try:
        record = place.read(CellRecord, SCHEMA)
        recorded.require_readable(record.workers)
    except OSError as error:
        return place.problem(f"cannot be read: {error.strerror}")
    except files.RecordError as error:
        return place.problem(str(error))
    named = [(record.key.name, place.cell), (record.key.suite, place.suite)]
    if machine is not None:
        named += [(worker.machine, machine) for worker in record.workers]
    for inside, outside in named:
        if inside != outside:
            reason = f"it is of {inside[:60]!r} and lies in the folder of {outside!r}"
            return place.problem(f"{reason}; delete it, or move it where it belongs")
    return record
