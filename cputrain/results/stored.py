"""Finds a machine's records: in files of their own, or packed in one; the own file wins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cputrain import paths
from cputrain.record import files
from cputrain.results import packed
from cputrain.results.problem import Problem

T = TypeVar("T")


@dataclass(frozen=True)
class RecordPlace:
    """Where a record lies.

    Attributes:
        path: of its own file, output/<machine>/[quick/]suite/cell/name, also where there is none.
        pack: the packed file that it lies in; None where it has a file of its own.
        content: its JSON in that.
    """

    path: Path
    pack: Path | None = None
    content: bytes = b""

    @property
    def suite(self) -> str:
        """The name of its suite's folder."""
        return self.path.parent.parent.name

    @property
    def cell(self) -> str:
        """The name of its cell's folder."""
        return self.path.parent.name

    def read(self, kind: type[T], schema: int) -> T:
        """The record, all of it checked.

        Raises:
            OSError, files.RecordError: see `files.read`.
        """
        if self.pack is None:
            return files.read(self.path, kind, schema)
        return files.decode(self.content, kind, schema)

    def problem(self, reason: str) -> Problem:
        """Why it cannot be used: a problem of the file that it lies in."""
        if self.pack is None:
            return Problem(self.path, reason)
        place = self.path.relative_to(self.pack.parent).as_posix()
        return Problem(self.pack, f"{place} in it: {reason}")


def folders(parent: Path) -> list[str]:
    """Names of the folders in `parent`, sorted; symbolic links are not followed."""
    try:
        with os.scandir(parent) as entries:
            return sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []


def find(root: Path, machine: str, name: str, mode: str = "full") -> list[RecordPlace]:
    """Where a machine's records of that name lie, by suite and cell.

    Args:
        root: of data and results.
        machine: whose; a folder of root/output.
        name: of the file, as run.json.
        mode: full or quick.
    """
    folder = root / "output" / machine
    if not _is_folder(folder):
        return []
    pack = folder / packed.FILE
    places: dict[Path, RecordPlace] = {}
    for relative, content in packed.read(pack).records.items():
        *above, _, _, file = relative.split("/")
        if file == name and bool(above) == (mode == "quick"):
            places[folder / relative] = RecordPlace(folder / relative, pack, content)
    places |= {path: RecordPlace(path) for path in loose(folder, name, mode)}
    return [places[path] for path in sorted(places)]


def problems(root: Path, machine: str) -> tuple[Problem, ...]:
    """What of the machine's packed file cannot be used."""
    folder = root / "output" / machine
    return packed.read(folder / packed.FILE).problems if _is_folder(folder) else ()


def loose(folder: Path, name: str, mode: str = "full") -> Iterator[Path]:
    """Where something below output/<machine>, `folder`, is called `name`."""
    suites = folder / "quick" if mode == "quick" else folder
    if not (_is_folder(folder) and _is_folder(suites)):
        return
    for suite in folders(suites):
        for cell in folders(suites / suite):
            path = suites / suite / cell / name
            if os.path.lexists(path):
                yield path


def gather(root: Path, machine: str) -> packed.Pack:
    """All records of a machine as JSON, loose and packed, by path relative to its folder.

    What is no JSON or cannot be read is a problem. Of what schema a record is, is not asked.
    """
    folder = root / "output" / machine
    pack = packed.read(folder / packed.FILE) if _is_folder(folder) else packed.Pack()
    records, broken = dict(pack.records), list(pack.problems)
    for name in packed.NAMES:
        for mode in paths.MODES:
            for path in loose(folder, name, mode):
                try:
                    content = packed.plain(files.read_bytes(path))
                except OSError as error:
                    broken.append(Problem(path, f"cannot be read: {error.strerror}"))
                except ValueError as error:  # also what is too large, or a link
                    broken.append(Problem(path, str(error)))
                else:
                    records[path.relative_to(folder).as_posix()] = content
    return packed.Pack(records, tuple(broken))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
