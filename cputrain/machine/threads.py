"""The threads of this process: their names, and what the scheduler counted of each.

Standard library only.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from cputrain.machine import reading

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
XLA_POOL = "tf_XLAEigen"
"""The threads that XLA shares the work of a program out to."""


def named(name: str, root: Path = reading.ROOT) -> list[int]:
    """The kernel's ids of the threads with this name, in order; names have 15 bytes at most."""
    ids = []
    for task in (root / "proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            if (task / "comm").read_text().rstrip("\n") == name:
                ids.append(int(task.name))
    return sorted(ids)


def cpu_time_by_thread(root: Path = reading.ROOT) -> dict[int, int]:
    """Nanoseconds on a CPU so far, by thread id of this process.

    A kernel without schedstat gives them in its ticks, of 10 ms mostly.

    Raises:
        reading.Unknown: neither is there.
    """
    try:
        return _schedstat(root, 0)
    except reading.Unknown:
        times = {}
        for thread, line in lines(root, "stat").items():
            fields = line.rpartition(b")")[2].split()  # the name may hold spaces
            times[thread] = (int(fields[11]) + int(fields[12])) * TICK_NS
        return times


def queued_by_thread(root: Path = reading.ROOT) -> dict[int, int]:
    """Nanoseconds spent ready in the run queue so far, by thread id of this process.

    Raises:
        reading.Unknown: this kernel does not count them.
    """
    return _schedstat(root, 1)


def _schedstat(root: Path, field: int) -> dict[int, int]:
    """A field of schedstat by thread: 0 is time on a CPU, 1 time in the run queue, ns."""
    by_thread = lines(root, "schedstat")
    return {thread: int(line.split()[field]) for thread, line in by_thread.items()}


def lines(root: Path, name: str) -> dict[int, bytes]:
    """The first line of a file of each thread; threads that end meanwhile are left out.

    Raises reading.Unknown.
    """
    folder = str(root / "proc/self/task")
    by_thread = {}
    try:
        for thread in os.listdir(folder):  # noqa: PTH208 - Path is several times slower
            try:
                line = _bytes(f"{folder}/{thread}/{name}")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if line.strip():
                by_thread[int(thread)] = line
    except OSError as error:
        raise reading.Unknown(f"/proc/self/task: {error.strerror}") from error
    if not by_thread:
        raise reading.Unknown(f"/proc/self/task/*/{name}: this kernel does not have it")
    return by_thread


def _bytes(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(handle, 1 << 16)
    finally:
        os.close(handle)
