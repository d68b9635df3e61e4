"""How often CPUs were slowed because they were too hot, by the kernel's counters (Intel).

Format: Linux's Documentation/ABI/testing/sysfs-devices-system-cpu, `thermal_throttle`. Standard
library only.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cputrain.machine import reading

CPU = "/sys/devices/system/cpu"
COUNTERS = ("core_throttle_count", "package_throttle_count")


def throttle_events(cpus: Iterable[int], root: Path = reading.ROOT) -> int:
    """Events of these CPUs' cores and packages so far; a package counts once for each CPU.

    Raises:
        reading.Unknown: there are no such counters; a virtual machine has none.
    """
    events = [
        reading.number(root, f"{folder}/{name}")
        for folder in (f"{CPU}/cpu{cpu}/thermal_throttle" for cpu in cpus)
        for name in COUNTERS
        if (root / folder.lstrip("/") / name).exists()
    ]
    if not events:
        raise reading.Unknown("no thermal_throttle counters of these CPUs")
    return sum(events)
