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
        is_synced: whether to wait until the disk has it: not for what is made from other files.

    Raises:
        OSError: the folder cannot be made or written; `path` is as it was before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, 0o644)
            file.write(data)
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of UTF-8 text."""
    write_bytes(path, text.encode())


def write_made(path: Path, data: bytes | str) -> None:
    """`write_bytes` of what is made from other files, and made again where a crash has lost it."""
    write_bytes(path, data.encode() if isinstance(data, str) else data, is_synced=False)


def write_json(path: Path, value: object) -> None:
    """`write_bytes` of indented JSON. NaN and infinity are refused, for other readers' sake."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")
