"""What one machine has left, as a set of named texts: gathered from a folder, or out of a file.

Names are not paths: what may be called what is fixed here, and where it goes is decided by who
takes it in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.record import files
from cputrain.results import packed, records, stored
from cputrain.results.problem import Problem

RECORDS = "output/"
"""What the names of records begin with; what follows is their path below output/<machine>."""
PEAKS = "machine.json"
TABLES = tuple(paths.ENGINES.values())
ASV = tuple(paths.asv_results(mode).name for mode in paths.MODES)
ASV_FILE = re.compile(rf"({'|'.join(ASV)})/([0-9a-f]{{4,40}}-[A-Za-z0-9._+-]{{1,180}}\.json)")
ASV_FACTS = tuple(f"{folder}/machine.json" for folder in ASV)


class Refused(ValueError):
    """What cannot be taken in: one line that says why."""


@dataclass(frozen=True)
class Bundle:
    """One machine's results.

    Attributes:
        machine: its name, as the file or the folders say it; not checked.
        members: what it has, by name; the names are checked, the texts are not.
        problems: what of a folder could not be read, by path relative to it.
    """

    machine: str
    members: Mapping[str, bytes]
    problems: tuple[Problem, ...] = field(default=())


def check_name(name: str) -> None:
    """Raises Refused for a name that no member has."""
    if name in (PEAKS, *TABLES, *ASV_FACTS) or ASV_FILE.fullmatch(name):
        return
    if name.startswith(RECORDS) and packed.is_place(name.removeprefix(RECORDS)):
        return
    raise Refused(f"{os.fsencode(name[:100])!r} is no name that pack gives")


def path_in_project(machine: str, name: str) -> str:
    """Where a member lies in a project, relative to its folder; people are told this of it."""
    if name.startswith(RECORDS):
        return f"{RECORDS}{machine}/{name.removeprefix(RECORDS)}"
    folder, _, file = name.rpartition("/")
    return "/".join(part for part in ("result", folder, machine, file) if part)


def project(folder: Path) -> Path:
    """The folder that has result/ and output/: the given one, or the one above where it is these.

    Raises:
        UsageError: there are no records in it.
    """
    is_part = folder.name in ("output", "result") and not (folder / "output").is_dir()
    root = folder.parent if is_part else folder
    if not records.machines(root)[0]:
        raise UsageError(f"{folder}: no records of a machine in it: a clone has them in output/")
    return root


def gather(root: Path, machine: str) -> Bundle:
    """What a project's folder has of a machine, as it is; links are not followed.

    Raises:
        OSError: a folder cannot be read.
    """
    pack = stored.gather(root, machine)
    members = {f"{RECORDS}{place}": text for place, text in pack.records.items()}
    problems = list(pack.problems)
    for name, path in _others(root, machine):
        try:
            members[name] = files.read_bytes(path)
        except OSError as error:
            problems.append(Problem(path, f"cannot be read: {error.strerror}"))
        except files.RecordError as error:
            problems.append(Problem(path, str(error)))
    below = (Problem(its.path.relative_to(root), its.reason) for its in problems)
    return Bundle(machine, members, tuple(below))


def _others(root: Path, machine: str) -> Iterator[tuple[str, Path]]:
    """Files beside the records that there are, with the names of their members."""
    result = root / "result"
    for name in (PEAKS, *TABLES):
        if os.path.lexists(result / machine / name):
            yield name, result / machine / name
    for folder in ASV:
        for path in sorted((result / folder / machine).glob("*.json")):
            name = f"{folder}/{path.name}"
            if name in ASV_FACTS or ASV_FILE.fullmatch(name):
                yield name, path
