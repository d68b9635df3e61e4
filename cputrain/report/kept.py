"""What an export keeps of each machine, so that one that has not changed is not made again.

It lies in .asv/export/, which is this clone's own: a folder of results that somebody else made has
no say in what is made again.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from cputrain import paths
from cputrain.atomic import write_made
from cputrain.record import files
from cputrain.report.inputs import Stamp, stamp
from cputrain.results.records import Problem

FOLDER = "export"


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the index says of a machine.

    Attributes:
        about: CPU, cores, memory, system, in one line.
        cells, measured: how many it has, and how many of them have a number.
        baseline_s: seconds of a step of the baseline; None where it has no number.
        fastest_s, slowest_s: of its moments in the newest run; None where they are few.
        best: the change that pays most, with its effect; empty where none was told.
        date: when its newest worker started; empty where none did.
        compared: its pages of comparisons of releases: file and title.
    """

    name: str
    about: str
    cpu: str
    cores: str
    cells: int
    measured: int
    baseline_s: float | None
    fastest_s: float | None
    slowest_s: float | None
    best: str
    date: str
    compared: list[tuple[str, str]]


class KeptExport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One machine's export.

    Attributes:
        inputs: fingerprint of what it was made from.
        made: files, by their path relative to result/<machine>/, with what they are known by.
        line: of the index.
        section: its part of result/README.md; empty where it has a page of its own.
        screen: the first screen, as lines for a terminal.
        problems: paths and reasons of what could not be read.
    """

    inputs: str
    made: dict[str, Stamp]
    line: Line
    section: str
    screen: list[str]
    problems: list[tuple[str, str]]

    def is_of(self, folder: Path, inputs: str) -> bool:
        """Whether it is of these inputs, and all that it has made lies in `folder` as it was."""
        return self.inputs == inputs and all(
            stamp(folder / name) == known for name, known in self.made.items()
        )

    @property
    def broken(self) -> list[Problem]:
        """What could not be read."""
        return [Problem(Path(path), reason) for path, reason in self.problems]


def read(root: Path, machine: str) -> KeptExport | None:
    """What was kept of a machine; None where nothing was, or what there is cannot be used.

    What is of another machine, or names files outside its folder, is not: files that an export no
    longer makes are deleted.
    """
    path = _path(root, machine)
    if not os.path.lexists(path):
        return None
    try:
        its = msgspec.json.decode(files.read_bytes(path), type=KeptExport)
    except (OSError, ValueError, RecursionError):
        return None  # it is made again, and that is all that is lost
    inside = not any(Path(name).is_absolute() or ".." in Path(name).parts for name in its.made)
    return its if its.line.name == machine and inside else None


def write(root: Path, machine: str, kept: KeptExport) -> None:
    """Keep it.

    Raises:
        OSError: it cannot be written.
    """
    write_made(_path(root, machine), msgspec.json.encode(kept))


def _path(root: Path, machine: str) -> Path:
    return root / paths.STATE.name / FOLDER / f"{machine}.json"
