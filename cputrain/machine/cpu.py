"""What /proc/cpuinfo and sysfs tell about the CPUs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cputrain.machine import reading, topology

ISA = (
    *("sse4_2", "avx", "avx2", "fma", "f16c", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512dq", "avx512vl"),
    *("avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    *("asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2", "sme"),
)
"""Instruction sets that matter to training, by the kernel's names: x86's, then Arm's."""


def info(root: Path, *names: str) -> str:
    """The first of these fields that the first CPU of /proc/cpuinfo has. Raises Unknown."""
    fields: dict[str, str] = {}
    for line in reading.text(root, "/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    for name in names:
        if fields.get(name):
            return fields[name]
    raise reading.Unknown(f"/proc/cpuinfo: no {' and no '.join(names)}")


def instruction_sets(root: Path) -> str:
    """Those of `ISA` that the first CPU has. Raises Unknown."""
    has = info(root, "flags", "Features").split()
    return " ".join(name for name in ISA if name in has) or "none of those that matter"


def cache(level: int, kind: str) -> Callable[[Path], str]:
    """A reader of a cache's size and how many there are, such as "32K x 8"; by sysfs."""

    def read(root: Path) -> str:
        size_by_cpus: dict[str, str] = {}
        for folder in root.glob("sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*"):
            name = f"/{folder.relative_to(root)}"
            try:
                cache = reading.number(root, f"{name}/level"), reading.text(root, f"{name}/type")
                if cache in ((level, kind), (level, "Unified")):
                    shared = reading.text(root, f"{name}/shared_cpu_list")
                    size_by_cpus[shared] = reading.text(root, f"{name}/size")
            except reading.Unknown:
                continue  # one cache that says too little
        if not size_by_cpus:
            raise reading.Unknown("/sys/devices/system/cpu/cpu*/cache: no such cache listed")
        sizes = list(size_by_cpus.values())
        return ", ".join(f"{size} x {sizes.count(size)}" for size in sorted(set(sizes)))

    return read


def online(root: Path) -> topology.Topology:
    """The topology of all CPUs of the machine, whatever this process may use. Raises Unknown."""
    whole = topology.read_topology(root, reading.cpu_list(root, reading.ONLINE))
    if whole.note:
        raise reading.Unknown(whole.note)
    return whole
