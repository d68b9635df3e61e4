"""Files that come into a project together: all of them, also where the power fails in between.

They are prepared below .asv/merge/, then listed in a file, and then moved to where they belong.
Without the list nothing has happened, and what was prepared is thrown away; with it the next
export, or merge, moves the rest. What lies at a place is replaced only if it is what was there when
the files were prepared: what somebody has written meanwhile stays.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from cputrain import paths
from cputrain.atomic import write_bytes
from cputrain.errors import RunError

FOLDER = "merge"
LIST = "list.json"
FILES = "files"


class Move(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file that is to be moved.

    Attributes:
        path: where to, relative to the project's root.
        before: SHA-256 of what lay there; None where nothing did.
        after: of what is to lie there.
    """

    path: str
    before: str | None
    after: str


def put(root: Path, files: Mapping[str, bytes]) -> list[str]:
    """Put files in place, all or none of them; paths of those that were changed meanwhile.

    Args:
        root: of the project.
        files: by path relative to it.

    Raises:
        RunError: a folder on the way is a symbolic link.
        OSError: they cannot be prepared, and nothing has changed; or not moved, and the next
            export or merge goes on.
    """
    state = root / paths.STATE.name / FOLDER
    state.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=state))
    try:
        moves = []
        for number, (path, content) in enumerate(sorted(files.items())):
            _check_way(root, path)
            write_bytes(work / FILES / str(number), content)
            moves.append(Move(path, _digest(root / path), _sha(content)))
        write_bytes(work / LIST, msgspec.json.encode(moves))
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    _sync(state)
    return _move(root, work, moves)


def finish(root: Path) -> list[str]:
    """Move what an earlier call has prepared and listed; throw away what it has not listed.

    Returns:
        A line for each file that was not moved, as somebody has changed it meanwhile.

    Raises:
        RunError, OSError: as `put`.
    """
    state = root / paths.STATE.name / FOLDER
    lines = []
    for work in sorted(state.glob("*/")):
        try:
            moves = msgspec.json.decode((work / LIST).read_bytes(), type=list[Move])
        except (FileNotFoundError, msgspec.MsgspecError):
            shutil.rmtree(work, ignore_errors=True)
        else:
            lines += _move(root, work, moves)
    return lines


def _move(root: Path, work: Path, moves: list[Move]) -> list[str]:
    lines = []
    for number, move in enumerate(moves):
        prepared, target = work / FILES / str(number), root / move.path
        _check_way(root, move.path)
        now = _digest(target)
        if now == move.before and prepared.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            prepared.replace(target)
            _sync(target.parent)
        elif now != move.after:
            lines.append(f"{move.path} was changed while it was merged; what is here stays")
    (work / LIST).unlink(missing_ok=True)
    shutil.rmtree(work, ignore_errors=True)
    return lines


def _check_way(root: Path, path: str) -> None:
    """Raise RunError where a link would lead elsewhere."""
    place = root
    for part in Path(path).parts:
        place = place / part
        if place.is_symlink():
            raise RunError(f"{place} is a symbolic link, which is not written to: remove it")


def _digest(path: Path) -> str | None:
    try:
        return _sha(path.read_bytes())
    except FileNotFoundError:
        return None


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sync(folder: Path) -> None:
    """Wait until the disk has a folder's entries."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
