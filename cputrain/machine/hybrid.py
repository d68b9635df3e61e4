"""Which CPUs are a hybrid processor's efficiency cores, by what the kernel shows.

A step whose work is shared out evenly takes as long as the slowest thread, so slower cores may make
it longer. Standard library only.
"""

from __future__ import annotations

from pathlib import Path

from cputrain.machine import reading

PERFORMANCE = "/sys/devices/cpu_core/cpus"
"""Of a hybrid x86 processor: the event source of these cores (perf-list calls it cpu_core)."""
EFFICIENCY = ("/sys/devices/cpu_atom/cpus", "/sys/devices/cpu_lowpower/cpus")
CAPACITY = "cpu_capacity"
"""Of a CPU of Arm or RISC-V: 1024 is the fastest (Documentation/scheduler/sched-capacity.rst)."""
SHARE = 0.75
"""Of the largest capacity, below which a core is one for efficiency: the small ones of two kinds
have 0.25 to 0.55, the middle ones of three 0.8 to 0.9."""


def efficiency_cores(root: Path = reading.ROOT) -> frozenset[int]:
    """The CPUs that are on one; none where all are of one kind, or the kernel does not say.

    Args:
        root: where the kernel's files are.
    """
    performance = _cpus(root, PERFORMANCE)
    efficiency = frozenset().union(*(_cpus(root, name) for name in EFFICIENCY))
    if performance and efficiency:
        return efficiency - performance
    capacities: dict[int, int] = {}
    for file in root.glob(f"sys/devices/system/cpu/cpu[0-9]*/{CAPACITY}"):
        try:
            capacity = reading.number(root, f"/{file.relative_to(root)}")
        except reading.Unknown:
            continue  # its CPU went offline
        capacities[int(file.parent.name.removeprefix("cpu"))] = capacity
    least = SHARE * max(capacities.values(), default=0)
    return frozenset(cpu for cpu, capacity in capacities.items() if capacity < least)


def _cpus(root: Path, name: str) -> frozenset[int]:
    try:
        return frozenset(reading.cpu_list(root, name))
    except reading.Unknown:
        return frozenset()
