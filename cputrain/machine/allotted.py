"""What of a machine's CPUs this process may use, where it is not all of them.

Threads, peaks and effects are of what may be used: results of a part of a machine (a mask, a
container, a job on a node of a cluster) stand beside those of the whole, as of another machine.
Standard library only.
"""

from __future__ import annotations

import re
from pathlib import Path

from cputrain.machine import quota, reading
from cputrain.wording import counted

ALLOWED = "Cpus_allowed_list"
"""Of /proc/self/status: the affinity mask, within what cgroups and the kernel's command line
leave."""
ENDING = re.compile(r"(?:-(?P<cpus>\d+)cpus?)?(?:-quota(?P<time>[\d.]+))?$")
"""Of a name, as `suffix` has it."""


def suffix(root: Path = reading.ROOT) -> str:
    """How the machine's name ends: "-1cpu", "-8cpus", "-quota1.5"; "" where nothing is kept back.

    Args:
        root: where the kernel's files are.
    """
    cpus, time = _cpus(root), _time(root)
    words = [] if cpus is None else [f"{cpus[0]}cpu{'' if cpus[0] == 1 else 's'}"]
    words += [] if time is None else [f"quota{time:.6g}"]
    return "".join(f"-{word}" for word in words)


def line(root: Path = reading.ROOT) -> str | None:
    """One line on what may be used, for people; None where all may."""
    cpus, time = _cpus(root), _time(root)
    parts = [] if cpus is None else [f"{cpus[0]} of {counted(cpus[1], 'CPU')}"]
    parts += [] if time is None else [f"the time of {time:.6g} CPUs (a cgroup's quota)"]
    return f"{' and '.join(parts)} may be used here" if parts else None


def in_words(name: str) -> str:
    """What the ending of a machine's name says, for people; "" where it says nothing.

    Args:
        name: as `suffix` ends it; one that somebody has given may end so too.
    """
    found = ENDING.search(name)
    cpus, time = found.group("cpus", "time") if found else (None, None)
    parts = [] if cpus is None else [counted(int(cpus), "CPU")]
    parts += [] if time is None else [f"the time of {time} CPUs"]
    return f"{' and '.join(parts)} of them used" if parts else ""


def _cpus(root: Path) -> tuple[int, int] | None:
    """How many CPUs may be used, and how many there are; None where that is all of them."""
    try:
        online = reading.cpu_list(root, reading.ONLINE)
        status = reading.text(root, "/proc/self/status").splitlines()
        fields = dict(each.partition(":")[::2] for each in status)
        allowed = reading.as_list(fields[ALLOWED].strip())
    except (reading.Unknown, KeyError, ValueError):
        return None  # a kernel that does not say: the mask is no part of the name
    usable = len({*allowed} & {*online})
    return (usable, len(online)) if usable < len(online) else None


def _time(root: Path) -> float | None:
    """CPUs' worth of time that a quota leaves, where it is less than there are CPUs to use."""
    try:
        limit = quota.cpu_quota(root)
        online = len(reading.cpu_list(root, reading.ONLINE))
    except reading.Unknown:
        return None
    cpus = _cpus(root)
    return limit if limit is not None and limit < (cpus[0] if cpus else online) else None
