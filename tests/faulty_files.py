"""File operations of real processes, below a folder: written down, or made to fail.

`faulty_files.c` is preloaded; here is what a disk may hold after a power cut between any two of the
operations that it wrote down. What counts is what POSIX promises, not what a file system happens to
do: data are kept from their file's last sync on, names from their folder's.
"""

import os
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_suffix(".c")


class Faulty:
    """The preloaded library, and the files that it shares with its processes.

    Args:
        place: an empty folder for them.
        folder: whose operations count.
    """

    def __init__(self, place, folder):
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler")
        place.mkdir()
        self.library, self.log, self.count = (place / n for n in ("files.so", "log", "count"))
        self.copies, self.folder = place / "copies", folder
        self.copies.mkdir()
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", self.library, SOURCE, "-ldl"]
        subprocess.run(command, check=True)

    def writing_down(self):
        """Environment of a process whose operations are written down."""
        return self._env() | {"FAULTY_LOG": str(self.log), "FAULTY_COPIES": str(self.copies)}

    def failing(self, number, error):
        """Environment of a process whose operations fail from a number on; 0: they are counted."""
        self.count.write_bytes(bytes(8))
        return self._env() | {"FAULTY_FROM": str(number), "FAULTY_ERRNO": str(int(error))}

    def counted(self):
        """How many operations there were."""
        return int.from_bytes(self.count.read_bytes(), "little")

    def operations(self):
        """What was written down: a name and two paths each."""
        return [tuple(line.split("\t")) for line in self.log.read_text().splitlines()]

    def _env(self):
        return {
            "LD_PRELOAD": str(self.library),
            "FAULTY_FOLDER": str(self.folder),
            "FAULTY_COUNT": str(self.count),
        }


@dataclass
class File:
    """A file, under whatever names. `synced`: the copy of what the disk has; None: of nothing."""

    synced: Path | None = None


@dataclass
class Disk:
    """What was asked of a disk up to some moment, and what of it the disk need not have.

    Attributes:
        names: of files, as processes see them.
        kept: as the disk has them for certain; folders are None.
        pending: operations on names since their folder's last sync, in order.
    """

    names: dict[str, File] = field(default_factory=dict)
    kept: dict[str, File | None] = field(default_factory=dict)
    pending: list[tuple[str, str, str, File | None]] = field(default_factory=list)

    def apply(self, what, path, other, copies):
        """Take one more operation."""
        if what == "write":
            return
        if what == "sync":
            self.names.setdefault(path, File()).synced = copies / other
        elif what == "sync-folder":
            of = [entry for entry in self.pending if str(Path(entry[2] or entry[1]).parent) == path]
            self.pending = [entry for entry in self.pending if entry not in of]
            for entry in of:
                _change(self.kept, *entry)
        else:
            file = None if what == "folder" else self.names.get(path, File())
            if what == "create":
                file = self.names[path] = File()
            entry = (what, path, other, file)
            self.pending.append(entry)
            if what != "folder":
                _change(self.names, *entry)

    def after_a_cut(self, chosen):
        """Names and files that the disk may have, given which pending operations it did."""
        names = dict(self.kept)
        for entry in self.pending:
            if chosen(entry):
                _change(names, *entry)
        return names


def _change(names, what, path, other, file):
    if what == "delete":
        for name in [n for n in names if n == path or n.startswith(path + "/")]:
            del names[name]
    elif what == "rename":
        moved = {n: f for n, f in names.items() if n == path or n.startswith(path + "/")}
        for name, its in moved.items():
            del names[name]
            names[other + name[len(path) :]] = its
        if not moved and file is not None:  # its earlier name had not reached the disk
            names[other] = file
    else:
        names[other if what == "link" else path] = file


def states(faulty, seed=1):
    """Every moment's disks after a power cut: none, all, and some of what was pending is there.

    Yields:
        the number of the operation before the cut, and names with their files.
    """
    disk, draw = Disk(), random.Random(seed)
    for number, operation in enumerate(faulty.operations()):
        disk.apply(*operation, faulty.copies)
        yield number, disk.after_a_cut(lambda entry: False)
        if disk.pending:
            yield number, disk.after_a_cut(lambda entry: True)
            yield number, disk.after_a_cut(lambda entry: draw.random() < 0.5)


def lay(names, folder, place):
    """Write a disk's files below `place` in the stead of `folder`; what was not synced is empty."""
    shutil.rmtree(place, ignore_errors=True)
    for name, file in names.items():
        parents = (str(parent) for parent in Path(name).parents)
        if not all(p in names for p in parents if p.startswith(f"{folder}/")):
            continue  # the folder's own name was lost
        to = place / os.path.relpath(name, folder)
        if file is None:
            to.mkdir(parents=True, exist_ok=True)
        else:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(file.synced.read_bytes() if file.synced else b"")
