"""What the machine and this process are set to now: read once for each experiment, when warm.

Standard library only, but for `threadpools`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cputrain.machine import mapped, pages, power, reading, temperature
from cputrain.machine.controls.control import Files
from cputrain.machine.controls.cpufreq import Turbo

CPU = "/sys/devices/system/cpu"

ALLOCATORS = ("libjemalloc", "libtcmalloc", "libtcmalloc_minimal", "libmimalloc")


def read(cpus: Sequence[int], root: Path = reading.ROOT) -> dict[str, Any]:
    """The state; where a value is None, "<key>_reason" says why.

    cpufreq_driver, governor, energy_preference: of the CPUs of the mask; several joined by ", ".
    turbo: on or off.
    power_source, platform_profile: see `power`.
    min_ghz, max_ghz: the limits that are set; the lowest and highest of the mask's CPUs.
    huge_pages, huge_pages_defrag: the machine's modes of transparent huge pages.
    anon_huge_bytes: of this process, in such pages.
    numa_bytes, numa_policies: this process's anonymous memory by node and by policy; the kernel
        walks all its pages for that, so it is asked where there are several nodes only.
    temperature_c: the hottest package.
    load_1m: load average over the last minute.
    openmp, allocators: files of these libraries that are mapped; no allocator is the C library's.
    masks: affinity masks of this process's threads -> how many have it.
    threadpools: what threadpoolctl finds: BLAS and OpenMP, version, threads, architecture.

    Args:
        cpus: the affinity mask.
        root: where /proc and /sys are.
    """
    readers: dict[str, Callable[[], Any]] = {
        "cpufreq_driver": lambda: _words(root, cpus, "scaling_driver"),
        "governor": lambda: _words(root, cpus, "scaling_governor"),
        "energy_preference": lambda: _words(root, cpus, "energy_performance_preference"),
        "turbo": lambda: turbo(root),
        "power_source": lambda: power.source(root),
        "platform_profile": lambda: power.profile(root),
        "min_ghz": lambda: min(_limits(root, cpus, "scaling_min_freq")),
        "max_ghz": lambda: max(_limits(root, cpus, "scaling_max_freq")),
        "huge_pages": lambda: pages.huge_page_mode(root),
        "huge_pages_defrag": lambda: pages.huge_page_mode(root, pages.DEFRAG),
        "anon_huge_bytes": lambda: pages.anon_huge_bytes(root),
        "temperature_c": lambda: temperature.cpu_celsius(root),
        "load_1m": lambda: float(reading.text(root, "/proc/loadavg").split()[0]),
        "openmp": lambda: mapped.openmp_runtimes(root),
        "allocators": lambda: mapped.libraries(*ALLOCATORS, root=root),
        "masks": lambda: masks(root),
        "threadpools": _threadpools,
    }
    state: dict[str, Any] = {}
    for key, reader in readers.items():
        _put(state, key, reader)
    _put(state, "numa_bytes", lambda: _numa(root))
    there = state["numa_bytes"]
    if there is not None:
        nodes = {str(node): size for node, size in sorted(there.nodes.items())}
        state |= {"numa_bytes": nodes, "numa_policies": there.policies}
    return state


def _numa(root: Path) -> pages.NumaMaps:
    nodes = list(root.glob("sys/devices/system/node/node[0-9]*"))
    if len(nodes) == 1:
        raise reading.Unknown("1 node, that has all")
    return pages.numa_maps(root)


def _put(state: dict[str, Any], key: str, reader: Callable[[], Any]) -> None:
    try:
        state[key] = reader()
    except reading.Unknown as unknown:
        state |= {key: None, f"{key}_reason": str(unknown)}


def masks(root: Path = reading.ROOT) -> dict[str, int]:
    """Each affinity mask that threads of this process have -> how many have it. Raises Unknown."""
    counts: Counter[str] = Counter()
    for folder in root.glob("proc/self/task/[0-9]*"):
        name = f"/proc/self/task/{folder.name}/status"
        try:
            lines = reading.text(root, name).splitlines()
        except reading.Unknown:
            continue  # it ended meanwhile
        counts.update(
            line.partition(":")[2].strip() for line in lines if line.startswith("Cpus_allowed_list")
        )
    if not counts:
        raise reading.Unknown("/proc/self/task/*/status: no Cpus_allowed_list")
    return dict(counts.most_common())


def _words(root: Path, cpus: Sequence[int], name: str) -> str:
    """What a file of cpufreq says for these CPUs, each word once."""
    _cpufreq(root, cpus)
    words = {reading.text(root, f"{CPU}/cpu{cpu}/cpufreq/{name}") for cpu in cpus}
    return ", ".join(sorted(words))


def _limits(root: Path, cpus: Sequence[int], name: str) -> list[float]:
    """GHz of these CPUs."""
    _cpufreq(root, cpus)
    return [reading.number(root, f"{CPU}/cpu{cpu}/cpufreq/{name}") / 1e6 for cpu in cpus]


def _cpufreq(root: Path, cpus: Sequence[int]) -> None:
    if not any((root / f"{CPU}/cpu{cpu}/cpufreq".lstrip("/")).is_dir() for cpu in cpus):
        raise reading.Unknown("no cpufreq here; in a virtual machine the host decides")


def turbo(root: Path = reading.ROOT) -> str:
    """On or off. Raises reading.Unknown, also where CPUs differ in it."""
    control = Turbo(Files(root))
    if (state := control.state()) is None:
        reason = "the CPUs' switches differ" if control.names() else "no switch for it here"
        raise reading.Unknown(reason)
    return state


def _threadpools() -> list[dict[str, Any]]:
    try:
        from threadpoolctl import threadpool_info
    except ImportError as error:
        raise reading.Unknown(f"threadpoolctl: {error}") from error
    pools: list[dict[str, Any]] = threadpool_info()
    return pools
