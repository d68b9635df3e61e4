"""The pages that `compare` has written: of machines, and of a machine's releases and commits."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from cputrain.record import files
from cputrain.record.releases import FILE, FOLDER, SCHEMA, ReleasesRecord
from cputrain.report.compared_machines import machines as machines_of
from cputrain.results import stored

COMPARE = "compare"
"""The folder of comparisons of machines below result/."""
LONGEST = 200
"""Letters of a file's name without its ending."""


def name_of(folder: Path, machines: Sequence[str]) -> str:
    """What the files of a comparison are called, without their endings: no other one's name.

    "a-b" beside "c" makes the same words as "a" beside "b-c", and long ones are cut off: where
    another one has the words, and where they are cut off, they end with a hash of the machines.

    Args:
        folder: of comparisons.
        machines: their names, the first one first.
    """
    words = "-".join(machines)
    if len(words) <= LONGEST and machines_of(folder, words) in ((), (*machines,)):
        return words
    digest = hashlib.sha256("/".join(machines).encode()).hexdigest()[:8]
    return f"{words[: LONGEST - 9]}-{digest}"


def of_machines(result: Path, machine: str = "") -> list[str]:
    """Names of the comparisons of machines below result/, without their endings.

    Args:
        result: folder of results.
        machine: those that it is in, by the table beside the page; all of them where left out.
    """
    folder = result / COMPARE
    if folder.is_symlink():
        return []
    names = sorted(path.stem for path in folder.glob("*.md"))
    if not machine:
        return names
    return [name for name in names if machine in machines_of(folder, name)]


def of_releases(root: Path, machine: str) -> list[tuple[str, str]]:
    """File below result/<machine>/compare/ and title of each, the newest first.

    A page whose record is not here, or cannot be read, is called by its file's name.
    """
    folder = root / "result" / machine / FOLDER
    if folder.is_symlink() or folder.parent.is_symlink():
        return []
    places = stored.find(root, machine, FILE)
    records = {place.cell: place for place in places if place.suite == FOLDER}
    pages = sorted((path for path in folder.glob("*.md") if path.is_file()), reverse=True)
    return [(page.name, _title(records.get(page.stem)) or page.stem) for page in pages]


def _title(place: stored.RecordPlace | None) -> str:
    """ "torch==2.13.0 beside torch==2.12.1, 2026-11-23": the reference comes last."""
    if place is None:
        return ""
    try:
        record = place.read(ReleasesRecord, SCHEMA)
    except (OSError, files.RecordError):
        return ""
    reference, *others = (side.label for side in record.sides)
    return f"{', '.join(others)} beside {reference}, {record.started[:10]}"
