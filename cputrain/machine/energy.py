"""Energy that the CPU packages have used, by the kernel's RAPL counters (Intel, and AMD's too).

Format: Linux's Documentation/power/powercap/powercap.rst. Since Linux 5.10 root alone may read
them (CVE-2020-8694). Standard library only.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from cputrain.machine import reading

ZONES = "/sys/class/powercap"

Counters = dict[str, int]
"""Microjoules so far by zone."""


def read(root: Path = reading.ROOT) -> Counters | str:
    """The counter of each package, or the reason why there is none."""
    try:
        zones = _packages(root)
        return {zone: reading.number(root, f"{zone}/energy_uj") for zone in zones}
    except reading.Unknown as unknown:
        return str(unknown)


def between(
    before: Counters | str, after: Counters | str, root: Path = reading.ROOT
) -> dict[str, Any]:
    """For a record: "energy_j" of all packages together, or None and "energy_j_reason".

    Of everything that ran on them meanwhile. A counter that ended below its start began anew
    once at its range.
    """
    try:
        if isinstance(before, str) or isinstance(after, str):
            raise reading.Unknown(str(before if isinstance(before, str) else after))
        used = 0
        for zone, end in after.items():
            start = before[zone]
            around = reading.number(root, f"{zone}/max_energy_range_uj") if end < start else 0
            used += end - start + around
        return {"energy_j": used / 1e6}
    except reading.Unknown as unknown:
        return {"energy_j": None, "energy_j_reason": str(unknown)}


@functools.cache
def _packages(root: Path) -> tuple[str, ...]:
    """The zones of whole packages; looked up once. Their parts and the platform are others."""
    zones = []
    for folder in sorted((root / ZONES.lstrip("/")).glob("intel-rapl:*")):
        zone = f"{ZONES}/{folder.name}"
        if folder.name.count(":") == 1 and reading.text(root, f"{zone}/name").startswith("package"):
            zones.append(zone)
    if not zones:
        raise reading.Unknown(f"{ZONES}: no energy counter (RAPL) here")
    return tuple(zones)
