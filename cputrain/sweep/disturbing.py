"""What is said as a measurement begins: what will disturb it."""

from __future__ import annotations

import time
from pathlib import Path

from cputrain.machine import busy, power, reading, surroundings

READ_S = 0.3
SHARE = 0.2
"""Of one CPU, from which a process is named: an editor or a browser at rest takes less."""
NAMED = 3


def lines(root: Path = reading.ROOT, seconds: float = READ_S) -> list[str]:
    """A line for each thing; none where there is nothing.

    Called while this process has no children that work.

    Args:
        root: where the kernel's files are.
        seconds: for the look at other processes.
    """
    return [line for line in (_power(root), _quota(root), _others(root, seconds)) if line]


def _power(root: Path) -> str:
    try:
        if power.source(root) == "mains":
            return ""
    except reading.Unknown:
        return ""
    return (
        "this machine runs on its battery, and clocks lower as that empties: "
        "plug it in for times that hold tomorrow"
    )


def _quota(root: Path) -> str:
    try:
        finding = surroundings.held_back(root)
    except reading.Unknown:
        return ""
    if finding.level == "ok":
        return ""
    return f"{finding.text}, and blocks that lose time by it do not count: {finding.do}"


def _others(root: Path, seconds: float) -> str:
    before, began = busy.processes(root), time.monotonic()
    time.sleep(seconds)
    after, passed = busy.processes(root), time.monotonic() - began
    heavy = [process for process in busy.heavy(before, after, passed) if process.share >= SHARE]
    if not heavy:
        return ""
    names = [f"{process.name} (process {process.pid})" for process in heavy[:NAMED]]
    if len(heavy) > NAMED:
        names.append(f"{len(heavy) - NAMED} more")
    return (
        f"others use {sum(process.share for process in heavy):.1f} CPUs now: {', '.join(names)}; "
        "while they do steps take longer and less can be told: end them, or measure later"
    )
