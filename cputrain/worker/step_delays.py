"""How long others held up each step: its threads were ready to run, and others had their CPUs.

The kernel counts to the nanosecond what each thread waits in the run queue (schedstat). A step
takes longer by what the most delayed of its threads waited, at most. Threads that wait for one
another are the experiment's own doing: nothing is read where there are more of them than CPUs
(`watch.each_has_a_cpu`), and a step at whose start or end two of them had the same CPU has 0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cputrain.machine import reading, threads

CPU = 36
"""Place of the CPU that a thread had last among the fields of stat after its name (proc(5))."""
LINE_BYTES = 1024


class ThreadState(NamedTuple):
    """Nanoseconds on a CPU and in the run queue so far, and the CPU that it had last."""

    used_ns: int
    queued_ns: int
    cpu: int


ByThread = Mapping[int, ThreadState]


class StepDelays:
    """Reads all threads of this process around each step; a reading takes 4 microseconds a thread.

    Args:
        computing: threads that compute.
        root: where /proc is.

    Raises:
        reading.Unknown: this kernel does not count delays.
    """

    def __init__(self, computing: int, root: Path = reading.ROOT) -> None:
        threads.queued_by_thread(root)
        self._folder, self._computing = root / "proc/self/task", computing
        self._files: dict[int, tuple[int, int]] = {}
        self._around: list[tuple[ByThread, ByThread]] = []
        self._start: ByThread = {}

    def begin(self) -> None:
        """Start with no step; threads that are new by now are read from here on."""
        self._around = []
        for name in os.listdir(self._folder):  # noqa: PTH208 - Path is several times slower
            if (thread := int(name)) not in self._files:
                with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
                    self._files[thread] = self._open(name)

    def before_step(self) -> None:
        """Read before a step's clock starts."""
        self._start = self._read()

    def after_step(self) -> None:
        """Read after a step's clock has stopped."""
        self._around.append((self._start, self._read()))

    def taken(self) -> list[float]:
        """Seconds that others held up each step since `begin`."""
        if not self._around:
            return []
        first, last = self._around[0][0], self._around[-1][1]
        used = {t: last[t].used_ns - first[t].used_ns for t in last if t in first}
        computing = sorted(used, key=lambda t: -used[t])[: self._computing]
        return [_delay_s(before, after, computing) for before, after in self._around]

    def _open(self, name: str) -> tuple[int, int]:
        schedstat = os.open(f"{self._folder}/{name}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return schedstat, os.open(f"{self._folder}/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(schedstat)
            raise

    def _read(self) -> ByThread:
        states: dict[int, ThreadState] = {}
        for thread, (schedstat, stat) in list(self._files.items()):
            try:
                used, queued, _ = os.pread(schedstat, LINE_BYTES, 0).split()
                fields = os.pread(stat, LINE_BYTES, 0).rpartition(b")")[2].split()
            except ProcessLookupError:  # it has ended
                for file in self._files.pop(thread):
                    os.close(file)
                continue
            states[thread] = ThreadState(int(used), int(queued), int(fields[CPU]))
        return states


def _delay_s(before: ByThread, after: ByThread, computing: list[int]) -> float:
    """Of the thread that waited longest; 0 where some may have waited for one another."""
    if not all(thread in before and thread in after for thread in computing):
        return 0.0
    for states in (before, after):
        if len({states[thread].cpu for thread in computing}) < len(computing):
            return 0.0
    waited = (after[thread].queued_ns - before[thread].queued_ns for thread in computing)
    return max(waited, default=0) / 1e9
