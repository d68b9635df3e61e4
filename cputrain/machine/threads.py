"""The threads of this process by name. Standard library only."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from cputrain.machine import reading

XLA_POOL = "tf_XLAEigen"
"""The threads that XLA shares the work of a program out to."""


def named(name: str, root: Path = reading.ROOT) -> list[int]:
    """The kernel's ids of the threads with this name, in order; names have 15 bytes at most."""
    found = []
    for task in (root / "proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            if (task / "comm").read_text().rstrip("\n") == name:
                found.append(int(task.name))
    return sorted(found)
