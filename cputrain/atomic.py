"""Files that are either the old one or the new one, never half of each. Standard library only."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path


def write_bytes(path: Path, data: bytes, is_synced: bool = True) -> None:
    """Write `data` to a temporary name beside `path`, sync it and rename it; make the folders.

    Args:
        path: of the file.
        data: what it is to hold.
        is_synced: whether to wait until the disk has it, under this name, so that a power cut
            leaves nothing that was written later without it: not for what is made from other
            files.

    Raises:
        OSError: the folder cannot be made or written; `path` is as it was before. Or the disk does
            not take its name; then it is the new one, and may not outlive a power cut.
    """
    make_folder(path.parent, is_synced)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        _name(error, path)
        raise
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, 0o644)
            file.write(data)
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        _name(error, path)
        raise
    if is_synced:
        sync_folder(path.parent)


def remove_left(folder: Path) -> None:
    """Remove what writers that were killed left in a folder, where nobody writes now."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def make_folder(folder: Path, is_synced: bool = True) -> None:
    """Make a folder and those above it that are missing, each known to the disk if `is_synced`.

    Raises:
        OSError: one of them cannot be made.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent, is_synced)
    folder.mkdir(exist_ok=True)
    if is_synced:
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder: a file's own sync need not keep its name."""
    _sync(folder, os.O_DIRECTORY)


def sync(path: Path, below: Path) -> None:
    """Wait until the disk has what somebody else wrote, and the names from `below` down to it."""
    _sync(path)
    for folder in path.parents:
        sync_folder(folder)
        if folder == below:
            break


def _sync(path: Path, flags: int = 0) -> None:
    handle = os.open(path, os.O_RDONLY | flags)
    try:
        os.fsync(handle)
    except OSError as error:
        _name(error, path)
        raise
    finally:
        os.close(handle)


def _name(error: BaseException, path: Path) -> None:
    """Say of a system's error what file it is about.

    One of an open file names none, and one of a temporary file a name that nobody has given.
    """
    if isinstance(error, OSError):
        error.filename = str(path)
        del error.filename2  # what it was to be renamed to


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of UTF-8 text."""
    write_bytes(path, text.encode())


def write_made(path: Path, data: bytes | str) -> None:
    """`write_bytes` of what is made from other files, and made again where a crash has lost it."""
    write_bytes(path, data.encode() if isinstance(data, str) else data, is_synced=False)


def write_json(path: Path, value: object) -> None:
    """`write_bytes` of indented JSON. NaN and infinity are refused, for other readers' sake."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")
