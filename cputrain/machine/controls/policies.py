"""cpufreq's policies: folders of settings that one or several CPUs share."""

from __future__ import annotations

import functools
from collections.abc import Collection
from pathlib import Path

from cputrain.machine import cpu, reading
from cputrain.machine.controls.files import Files

CPUFREQ = "/sys/devices/system/cpu/cpufreq"


def of(files: Files, cpus: Collection[int] | None) -> list[str]:
    """Folders of the policies that rule these CPUs, each once, by number; None is all."""
    wanted = None if cpus is None else set(cpus)
    return [name for name, ruled in _all(files.root) if wanted is None or ruled & wanted]


def ruled(files: Files, cpus: Collection[int] | None) -> set[int]:
    """The CPUs that share a policy with one of these, and these."""
    folders = set(of(files, cpus))
    return {cpu for name, cpus in _all(files.root) if name in folders for cpu in cpus}


@functools.lru_cache(maxsize=8)
def _all(root: Path) -> tuple[tuple[str, frozenset[int]], ...]:
    """Every policy with its online CPUs; one without any can be neither read nor written.

    Kept: a plan asks hundreds of times, and CPUs do not come and go during one.
    """
    found = []
    for folder in root.glob(f"{CPUFREQ.lstrip('/')}/policy[0-9]*"):
        name = f"{CPUFREQ}/{folder.name}"
        try:
            cpus = reading.text(root, f"{name}/affected_cpus").split()
        except reading.Unknown:
            continue
        found.append((name, frozenset(map(int, cpus))))
    return tuple(sorted(found, key=lambda one: int(one[0].rpartition("policy")[2])))


def why_none(files: Files, cpus: Collection[int] | None) -> str | None:
    """Why the clock of these CPUs cannot be set at all; None where it can."""
    if not of(files, None):
        if is_virtual(files):
            return "no cpufreq here: in a virtual machine the host decides about the clock"
        return "no cpufreq here: the kernel has no driver for this CPU's clock"
    missing = sorted(set(cpus or ()) - ruled(files, None))
    return f"no cpufreq policy for CPU {', '.join(map(str, missing))}" if missing else None


def is_virtual(files: Files) -> bool:
    """Whether x86's flags say that a hypervisor runs this machine."""
    try:
        return "hypervisor" in cpu.info(files.root, "flags").split()
    except reading.Unknown:
        return False
