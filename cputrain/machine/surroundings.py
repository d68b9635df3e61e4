"""What a container or a virtual machine takes away, hides or makes up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cputrain.machine import cpuset, facts, quota, reading, topology
from cputrain.machine.finding import Finding, looked
from cputrain.wording import counted


def findings(root: Path = reading.ROOT) -> Iterator[Finding]:
    """Quota, cpuset, and what cannot be trusted here."""
    yield from looked({"cgroup quota": held_back, "cpuset": _cpuset}, root)
    yield from _around(root)


def held_back(root: Path = reading.ROOT) -> Finding:
    """Whether a cgroup's quota is less than the time of all CPUs of the mask.

    Raises:
        reading.Unknown: no cgroup file system to ask.
    """
    cpus, allowed = quota.cpu_quota(root), len(os.sched_getaffinity(0))
    if cpus is None:
        return Finding("ok", "cgroup quota: none")
    time = "the time of 1 CPU" if cpus == 1 else f"the time of {cpus:g} CPUs"
    text = f"cgroup quota: {time} on {counted(allowed, 'CPU')}"
    if cpus >= allowed:
        return Finding("ok", text)
    fewer = topology.read_topology(root).choose(max(1, int(cpus)))
    do = f"start under taskset -c {reading.as_text(fewer)}, or lift the quota"
    return Finding("warn", f"{text}; threads are held back in turns", do)


def _cpuset(root: Path) -> Finding:
    """Fewer CPUs than are online; affinity masks have them only, /proc/cpuinfo has all."""
    listed = cpuset.allowed(root)
    online = reading.cpu_list(root, reading.ONLINE)
    if len(reading.as_list(listed)) >= len(online):
        return Finding("ok", f"cpuset: all {len(online)} CPUs")
    text = f"cpuset: CPUs {listed} of {len(online)}; others may be given the same ones"
    return Finding("warn", text, "give this container or job CPUs that nobody else has")


def _around(root: Path) -> Iterator[Finding]:
    """What cannot be trusted in a virtual machine, and in a container."""
    machine_facts = facts.read_facts(root)
    for key, inside in (("hypervisor", _in_machine), ("container", _in_container)):
        value = machine_facts.values[key]
        if value is None:
            yield Finding("unknown", f"{key}: {machine_facts.reasons[key]}")
        elif value == "none":
            yield Finding("ok", f"{key}: none")
        else:
            yield from inside(value)


def _in_machine(name: str) -> Iterator[Finding]:
    text = f"hypervisor: {name}; other guests may take the CPUs, and not every host reports that"
    do = "trust samples without steal and run-queue delay, or measure on a host"
    yield Finding("warn", f"{text} as steal", do)
    text = "virtual machine: the clock shown, cache sizes and nodes are the hypervisor's word"
    do = "go by the observed clock, an estimate, and the measured bandwidth; frequency, "
    yield Finding("warn", text, f"{do}governor and turbo are the host's to set")


def _in_container(name: str) -> Iterator[Finding]:
    text = f"container: {name}; processes outside use the same CPUs, caches and memory unseen"
    do = "go by the run-queue delay; page placement may be refused without the capability "
    yield Finding("warn", text, f"{do}SYS_NICE, and clock and governor are set from outside")
