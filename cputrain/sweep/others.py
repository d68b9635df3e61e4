"""Who else uses the CPUs as a measurement begins."""

from __future__ import annotations

import time

from cputrain.machine import busy

READ_S = 0.3
SHARE = 0.2
"""Of one CPU, from which a process is named: an editor or a browser at rest takes less."""
NAMED = 3


def line(seconds: float = READ_S) -> str:
    """One line that names the processes that use the CPUs now; "" where none does.

    Called while this process has no children that work.

    Args:
        seconds: for the reading.
    """
    before, began = busy.processes(), time.monotonic()
    time.sleep(seconds)
    after, passed = busy.processes(), time.monotonic() - began
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
