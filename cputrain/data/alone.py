"""One process at a time where something is made once and kept. Standard library only."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made; the kernel frees that of a process that died.

    Raises:
        OSError: the file cannot be written, or its file system has no locks.
    """
    # Open for writing: NFS has no exclusive lock of what is only read, a folder among it.
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
