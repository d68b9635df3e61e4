"""Which other processes use the CPUs. Standard library only."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from cputrain.machine import reading

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SHARE = 0.05
"""Share of one CPU from which a process is worth naming."""

CpuTimes = dict[int, tuple[str, float]]
"""Name and CPU seconds so far, by process number."""


@dataclass(frozen=True)
class Busy:
    """A process and the share of one CPU that it used; more than 1 with several threads."""

    pid: int
    name: str
    share: float


def processes(root: Path = reading.ROOT) -> CpuTimes:
    """Every process but this one."""
    times = {}
    for folder in root.glob("proc/[0-9]*"):
        try:
            line = reading.text(root, f"/proc/{folder.name}/stat")
        except reading.Unknown:
            continue  # ended meanwhile
        head, _, rest = line.rpartition(")")  # the name may hold spaces and brackets
        fields = rest.split()
        seconds = (int(fields[11]) + int(fields[12])) * TICK_S
        times[int(folder.name)] = head.partition("(")[2], seconds
    times.pop(os.getpid(), None)
    return times


def heavy(before: CpuTimes, after: CpuTimes, seconds: float) -> list[Busy]:
    """The processes over `SHARE` of a CPU between two readings `seconds` apart, busiest first."""
    busy = []
    for pid, (name, used) in after.items():
        share = (used - before[pid][1]) / max(seconds, TICK_S) if pid in before else 0.0
        if share > SHARE:
            busy.append(Busy(pid, name, share))
    return sorted(busy, key=lambda process: -process.share)
