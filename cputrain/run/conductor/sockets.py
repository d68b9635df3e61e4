"""Where conductors listen: a temporary folder each, which is not left behind. Standard library."""

from __future__ import annotations

import contextlib
from pathlib import Path
from tempfile import mkdtemp

_open: set[Path] = set()


def made() -> Path:
    """The path of a socket to be, in a folder of its own."""
    path = Path(mkdtemp(prefix="cputrain-")) / "conductor"
    _open.add(path)
    return path


def remove(path: Path) -> None:
    """Remove a socket and its folder, where the conductor has not done so."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        path.parent.rmdir()
    _open.discard(path)


def remove_all() -> None:
    """Remove those that this process has made and not removed: their conductors were killed."""
    for path in list(_open):
        remove(path)
