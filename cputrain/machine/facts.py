"""What this machine is: facts that stay the same from run to run, for asv's registry."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cputrain.machine import cpu, cpuset, memory, quota, reading, smbios

CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"

LONGEST = 200
"""asv's pages make a folder's name of every fact, and that may have 255 bytes with its key."""


@dataclass(frozen=True)
class Facts:
    """`values` has every key of `KEYS`, None where unknown; `reasons` says why, key by key."""

    values: dict[str, str | None]
    reasons: dict[str, str]


def static_facts(root: Path = reading.ROOT) -> dict[str, str | None]:
    """The facts for asv's registry: strings, None where this machine does not say."""
    return read_facts(root).values


def read_facts(root: Path = reading.ROOT) -> Facts:
    """The facts, and the reason for each one that is unknown."""
    values: dict[str, str | None] = dict.fromkeys(KEYS)
    reasons = {}
    for key, reader in _READERS.items():
        try:
            values[key] = _short(reader(root))
        except reading.Unknown as error:
            reasons[key] = str(error)
    return Facts(values, reasons)


def _short(value: str) -> str:
    """At most `LONGEST` bytes, what is cut off as a hash, so that different values differ."""
    plain = value.encode("ascii", "replace").decode()
    if len(plain) <= LONGEST:
        return plain
    digest = hashlib.sha256(value.encode()).hexdigest()[:8]
    return f"{plain[: LONGEST - 12]}... {digest}"


def _field(*names: str) -> Callable[[Path], str]:
    return lambda root: cpu.info(root, *names)


def _threads_per_core(root: Path) -> str:
    whole = cpu.online(root)
    return f"{len(whole.cpus) / whole.physical_cores:g}"


def _siblings(root: Path) -> str:
    """The CPUs of each core, "0,8; 1,9"; a core of one CPU too."""
    cores: dict[int, list[str]] = {}
    for processor in cpu.online(root).cpus:
        cores.setdefault(processor.core, []).append(str(processor.id))
    return "; ".join(",".join(cpus) for cpus in cores.values())


def _nodes(root: Path) -> list[Path]:
    folders = root.glob("sys/devices/system/node/node[0-9]*")
    nodes = sorted(folders, key=lambda folder: int(folder.name.removeprefix("node")))
    if not nodes:
        raise reading.Unknown("/sys/devices/system/node: no nodes listed")
    return nodes


def _distances(root: Path) -> str:
    names = [f"/{folder.relative_to(root)}/distance" for folder in _nodes(root)]
    return "; ".join(reading.text(root, name) for name in names)


def _hypervisor(root: Path) -> str:
    if "hypervisor" not in cpu.info(root, "flags").split():
        return "none"
    for name in ("/sys/hypervisor/type", "/sys/class/dmi/id/product_name"):
        try:
            return reading.text(root, name)
        except reading.Unknown:
            continue
    try:  # paravirtual clocks are called by their host
        clocks = reading.text(root, CLOCKS)
    except reading.Unknown:
        return "unnamed"
    return next((name for name in ("kvm", "hyperv", "xen") if name in clocks), "unnamed")


def _container(root: Path) -> str:
    for name, kind in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if (root / name.lstrip("/")).exists():
            return kind
    try:
        return reading.text(root, "/run/systemd/container")
    except reading.Unknown:
        cgroups = reading.text(root, "/proc/self/cgroup")
    for kind in ("kubepods", "docker", "libpod", "containerd", "lxc"):
        if kind in cgroups:
            return kind
    return "none"


def _mitigations(root: Path) -> str:
    by_state: dict[str, list[str]] = {"mitigated": [], "vulnerable": []}
    files = sorted(root.glob("sys/devices/system/cpu/vulnerabilities/*"))
    if not files:
        raise reading.Unknown("/sys/devices/system/cpu/vulnerabilities: not there")
    for file in files:
        state = reading.text(root, f"/{file.relative_to(root)}")
        for word, names in by_state.items():
            if word[:6] in state.lower():
                names.append(file.name)
                break
    listed = [f"{word}: {' '.join(names)}" for word, names in by_state.items() if names]
    return "; ".join(listed) or "not affected"


def _glibc(_: Path) -> str:
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        version = None
    if not version:
        raise reading.Unknown("the C library is not glibc")
    return version.removeprefix("glibc ")


def _quota(root: Path) -> str:
    cpus = quota.cpu_quota(root)
    return "none" if cpus is None else f"{cpus:g} CPUs"


_READERS: dict[str, Callable[[Path], str]] = {
    "cpu_vendor": _field("vendor_id", "CPU implementer"),
    "cpu_family": _field("cpu family", "CPU architecture"),
    "cpu_model": _field("model", "CPU part"),
    "cpu_stepping": _field("stepping", "CPU revision"),
    "microcode": _field("microcode"),
    "isa": cpu.instruction_sets,
    "l1d": cpu.cache(1, "Data"),
    "l1i": cpu.cache(1, "Instruction"),
    "l2": cpu.cache(2, "Data"),
    "l3": cpu.cache(3, "Data"),
    "sockets": lambda root: str(len({processor.package for processor in cpu.online(root).cpus})),
    "cores": lambda root: str(cpu.online(root).physical_cores),
    "threads_per_core": _threads_per_core,
    "smt_siblings": _siblings,
    "numa_nodes": lambda root: str(len(_nodes(root))),
    "numa_distances": _distances,
    "memory": lambda root: f"{memory.meminfo(root, 'MemTotal') / 2**30:.1f} GiB",
    "memory_speed": smbios.memory_speed,
    "hypervisor": _hypervisor,
    "container": _container,
    "kernel": lambda root: reading.text(root, "/proc/sys/kernel/osrelease"),
    "mitigations": _mitigations,
    "glibc": _glibc,
    "cgroup_cpu_quota": _quota,
    "cgroup_cpuset": cpuset.allowed,
}

KEYS = tuple(_READERS)
"""The keys, fixed: asv's published pages and the tables stand on them."""
