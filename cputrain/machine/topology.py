"""Which CPUs this process may use, and which of them share a core. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cputrain.machine import reading


class TopologyError(ValueError):
    """CPUs that cannot be had: one line says how many can."""


@dataclass(frozen=True)
class Cpu:
    """One CPU as the kernel counts them.

    Attributes:
        id: the kernel's number.
        core: the lowest CPU number on the same physical core; unique on the machine.
        package: the socket, 0 where the machine does not say.
        node: the NUMA node, None where the machine does not say.
    """

    id: int
    core: int
    package: int
    node: int | None


@dataclass(frozen=True)
class Topology:
    """The CPUs that may be used, by number; `note` is one line where the machine does not say."""

    cpus: tuple[Cpu, ...]
    note: str | None = None

    @property
    def physical_cores(self) -> int:
        """Cores with at least one CPU among these."""
        return len({cpu.core for cpu in self.cpus})

    def choose(self, n: int) -> tuple[int, ...]:
        """`n` CPUs, ascending: one per core first, package by package, then second siblings.

        Raises:
            TopologyError: there are not that many, or `n` is not positive.
        """
        if not 1 <= n <= len(self.cpus):
            raise TopologyError(f"only {len(self.cpus)} CPUs are allowed here, not {n}")
        seen: dict[int, int] = {}
        ranked = []
        for cpu in self.cpus:
            sibling = seen.get(cpu.core, 0)
            seen[cpu.core] = sibling + 1
            ranked.append((sibling, cpu.package, cpu.id))
        return tuple(sorted(id for _, _, id in sorted(ranked)[:n]))


def read_topology(root: Path = reading.ROOT, allowed: Collection[int] | None = None) -> Topology:
    """The topology of the `allowed` CPUs; None is those of this process's affinity mask.

    Where the kernel does not say, each CPU counts as a core of its own and `note` says so.
    """
    if allowed is None:
        allowed = os.sched_getaffinity(0)
    nodes = _nodes(root)
    cpus, silent = [], []
    for id in sorted(allowed):
        folder = f"/sys/devices/system/cpu/cpu{id}/topology"
        try:
            core = _siblings(root, folder)[0]
        except reading.Unknown:
            silent.append(id)
            core = id
        try:
            package = reading.number(root, f"{folder}/physical_package_id")
        except reading.Unknown:
            package = 0
        cpus.append(Cpu(id, core, max(package, 0), nodes.get(id)))
    note = None
    if silent:
        which = "any CPU" if len(silent) == len(cpus) else f"CPU {', '.join(map(str, silent))}"
        note = f"the kernel does not say which core {which} belongs to: each counts as one core"
    return Topology(tuple(cpus), note)


def _siblings(root: Path, folder: str) -> tuple[int, ...]:
    """CPUs on the same core; the file was renamed in Linux 5.2."""
    try:
        return reading.cpu_list(root, f"{folder}/core_cpus_list")
    except reading.Unknown:
        return reading.cpu_list(root, f"{folder}/thread_siblings_list")


def _nodes(root: Path) -> dict[int, int]:
    """NUMA node of each CPU."""
    found: dict[int, int] = {}
    for folder in root.glob("sys/devices/system/node/node[0-9]*"):
        try:
            cpus = reading.cpu_list(root, f"/sys/devices/system/node/{folder.name}/cpulist")
        except reading.Unknown:
            continue  # a node of memory alone
        found |= dict.fromkeys(cpus, int(folder.name.removeprefix("node")))
    return found
