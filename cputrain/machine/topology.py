"""Which CPUs this process may use, and which of them share a core. Standard library only."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from cputrain.machine import hybrid, reading


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
        is_efficient: whether it is on one of a hybrid processor's efficiency cores.
    """

    id: int
    core: int
    package: int
    node: int | None
    is_efficient: bool = False


@dataclass(frozen=True)
class Topology:
    """The CPUs that may be used, by number.

    Attributes:
        note: one line where the kernel does not say which CPUs share a core.
        socket_note: one line where it does not say which share a socket.
    """

    cpus: tuple[Cpu, ...]
    note: str | None = None
    socket_note: str | None = None

    @property
    def physical_cores(self) -> int:
        """Cores with at least one CPU among these."""
        return len({cpu.core for cpu in self.cpus})

    @property
    def cores(self) -> tuple[tuple[Cpu, ...], ...]:
        """Each core's CPUs among these; package by package, by their lowest numbers."""
        by_core: dict[int, list[Cpu]] = {}
        for cpu in sorted(self.cpus, key=lambda cpu: cpu.id):
            by_core.setdefault(cpu.core, []).append(cpu)
        return tuple(sorted(map(tuple, by_core.values()), key=lambda c: (c[0].package, c[0].id)))

    @property
    def packages(self) -> tuple[int, ...]:
        """Sockets with at least one CPU among these, ascending."""
        return tuple(sorted({cpu.package for cpu in self.cpus}))

    @property
    def nodes(self) -> tuple[int, ...]:
        """NUMA nodes with at least one CPU among these, ascending."""
        return tuple(sorted({cpu.node for cpu in self.cpus if cpu.node is not None}))

    def on_node(self, node: int) -> Topology:
        """Those of these CPUs that are on a NUMA node."""
        return replace(self, cpus=tuple(cpu for cpu in self.cpus if cpu.node == node))

    def choose(self, n: int) -> tuple[int, ...]:
        """`n` CPUs, ascending: one per core first, package by package, then second siblings.

        A hybrid processor's performance cores come before the others.

        Raises:
            TopologyError: there are not that many, or `n` is not positive.
        """
        if not 1 <= n <= len(self.cpus):
            are = "CPU is" if len(self.cpus) == 1 else "CPUs are"
            raise TopologyError(f"only {len(self.cpus)} {are} allowed here, not {n}")
        seen: dict[int, int] = {}
        ranked = []
        for cpu in self.cpus:
            sibling = seen.get(cpu.core, 0)
            seen[cpu.core] = sibling + 1
            ranked.append((sibling, cpu.is_efficient, cpu.package, cpu.id))
        return tuple(sorted(id for *_, id in sorted(ranked)[:n]))


def read_topology(root: Path = reading.ROOT, allowed: Collection[int] | None = None) -> Topology:
    """The topology of the `allowed` CPUs; None is those of this process's affinity mask.

    Where the kernel does not say, each CPU counts as a core of its own and all as one socket,
    and the notes say so. Several hundred files of a large machine are read once for each mask:
    another set of CPUs that are online is what changes them.
    """
    wanted = frozenset(os.sched_getaffinity(0) if allowed is None else allowed)
    try:
        online = reading.text(root, reading.ONLINE)
    except reading.Unknown:
        return _read(root, wanted)
    return _read_once(root, wanted, online)


@functools.lru_cache(maxsize=64)
def _read_once(root: Path, allowed: frozenset[int], online: str) -> Topology:
    """What was read while the CPUs of the list `online` were."""
    return _read(root, allowed)


def _read(root: Path, allowed: frozenset[int]) -> Topology:
    nodes, efficient = _nodes(root), hybrid.efficiency_cores(root)
    cpus, silent, homeless = [], [], []
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
            package = -1  # as the kernel itself writes it where firmware does not say
        if package < 0:
            homeless.append(id)
        cpus.append(Cpu(id, core, max(package, 0), nodes.get(id), id in efficient))
    note = socket_note = None
    if silent:
        which = _which(silent, cpus)
        note = f"the kernel does not say which core {which} belongs to: each counts as one core"
    if homeless:
        which = _which(homeless, cpus)
        socket_note = f"the kernel does not say which socket {which} belongs to"
    return Topology(tuple(cpus), note, socket_note)


def other_threads(cpus: Collection[int], root: Path = reading.ROOT) -> tuple[int, ...]:
    """CPUs that share a core with one of `cpus` and are none of them, allowed or not.

    Raises:
        reading.Unknown: the kernel does not say.
    """
    folders = (f"/sys/devices/system/cpu/cpu{cpu}/topology" for cpu in cpus)
    return tuple(sorted({id for folder in folders for id in _siblings(root, folder)} - {*cpus}))


def _which(unknown: list[int], cpus: list[Cpu]) -> str:
    return "any CPU" if len(unknown) == len(cpus) else f"CPU {', '.join(map(str, unknown))}"


def memory_nodes(root: Path = reading.ROOT) -> tuple[int, ...]:
    """NUMA nodes whose memory this process may use, ascending; a cpuset may leave some out.

    Nodes that are memory alone (high-bandwidth or CXL) are not among them: their speed is another
    one.

    Raises:
        reading.Unknown: the kernel does not say which nodes there are.
    """
    nodes = set(reading.cpu_list(root, "/sys/devices/system/node/has_memory"))
    nodes &= set(_nodes(root).values())
    for line in reading.text(root, "/proc/self/status").splitlines():
        key, _, rest = line.partition(":")
        if key == "Mems_allowed_list":
            nodes &= set(reading.as_list(rest.strip()))
    return tuple(sorted(nodes))


def _siblings(root: Path, folder: str) -> tuple[int, ...]:
    """CPUs on the same core; the file was renamed in Linux 5.2."""
    try:
        return reading.cpu_list(root, f"{folder}/core_cpus_list")
    except reading.Unknown:
        return reading.cpu_list(root, f"{folder}/thread_siblings_list")


def _nodes(root: Path) -> dict[int, int]:
    """NUMA node of each CPU."""
    nodes: dict[int, int] = {}
    for folder in root.glob("sys/devices/system/node/node[0-9]*"):
        try:
            cpus = reading.cpu_list(root, f"/sys/devices/system/node/{folder.name}/cpulist")
        except reading.Unknown:
            continue  # a node of memory alone
        nodes |= dict.fromkeys(cpus, int(folder.name.removeprefix("node")))
    return nodes
