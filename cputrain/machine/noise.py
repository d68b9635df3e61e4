"""What else went on while something was timed: two cheap readings and their difference.

The delay in the run queue is the one that tells a disturbed sample: time that threads of
this process were ready to run and did not, because somebody else had the CPU.
"""

from __future__ import annotations

import functools
import os
import resource
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cputrain.machine import reading

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Snapshot:
    """One reading; each part is a value or the reason why there is none.

    Attributes:
        wall_ns: the clock.
        queued_ns: time spent ready in the run queue so far, by thread id.
        steal_ticks, all_ticks: stolen and all time of the CPUs of the mask.
        throttled_s: time that a cgroup's quota held this process back so far.
        usage: the process's faults and switches so far.
        load_1m: load average of the last minute.
    """

    wall_ns: int
    queued_ns: dict[int, int] | str
    ticks: tuple[int, int] | str
    throttled_s: float | str
    usage: resource.struct_rusage
    load_1m: float | str


def read(root: Path = reading.ROOT, cpus: Collection[int] | None = None) -> Snapshot:
    """A reading of now. Below 1 ms for a process of a few threads.

    Args:
        root: where /proc and /sys are.
        cpus: the process's CPUs; None is the calling thread's, which pinning may have bound to one.
    """
    cpus = os.sched_getaffinity(0) if cpus is None else cpus
    return Snapshot(
        wall_ns=time.perf_counter_ns(),
        queued_ns=_or_reason(_schedstat, root, 1),
        ticks=_or_reason(_ticks, root, frozenset(cpus)),
        throttled_s=_or_reason(_throttled_s, root),
        usage=resource.getrusage(resource.RUSAGE_SELF),
        load_1m=_or_reason(_load_1m, root),
    )


def between(a: Snapshot, b: Snapshot) -> dict[str, Any]:
    """What happened from `a` to `b`; where a value is None, "<key>_reason" says why.

    run_queue_share: delay in the run queue, summed over threads, over wall time. Threads
        that started in between count, those that ended do not.
    voluntary_switches, involuntary_switches, minor_faults, major_faults: counts.
    steal_share: of the CPU time of the mask, what the hypervisor gave to others.
    throttled_s: seconds held back by a cgroup's quota.
    load_1m: at `b`.
    """
    wall_ns = b.wall_ns - a.wall_ns
    found: dict[str, Any] = {"wall_s": wall_ns / 1e9}

    def put(name: str, value: float | str) -> None:
        found[name] = None if isinstance(value, str) else value
        if isinstance(value, str):
            found[f"{name}_reason"] = value

    if isinstance(a.queued_ns, str) or isinstance(b.queued_ns, str):
        put("run_queue_share", _reason(a.queued_ns, b.queued_ns))
    else:
        start = a.queued_ns
        queued = sum(ns - start.get(thread, 0) for thread, ns in b.queued_ns.items())
        put("run_queue_share", queued / wall_ns if wall_ns else "no time passed")
    for name, field in (
        ("voluntary_switches", "ru_nvcsw"),
        ("involuntary_switches", "ru_nivcsw"),
        ("minor_faults", "ru_minflt"),
        ("major_faults", "ru_majflt"),
    ):
        found[name] = getattr(b.usage, field) - getattr(a.usage, field)
    if isinstance(a.ticks, str) or isinstance(b.ticks, str):
        put("steal_share", _reason(a.ticks, b.ticks))
    else:
        steal, passed = b.ticks[0] - a.ticks[0], b.ticks[1] - a.ticks[1]
        put("steal_share", steal / passed if passed > 0 else "shorter than the kernel's tick")
    if isinstance(a.throttled_s, str) or isinstance(b.throttled_s, str):
        put("throttled_s", _reason(a.throttled_s, b.throttled_s))
    else:
        put("throttled_s", b.throttled_s - a.throttled_s)
    put("load_1m", b.load_1m)
    return found


def cpu_time_by_thread(root: Path = reading.ROOT) -> dict[int, int]:
    """Nanoseconds on a CPU so far, by thread id of this process.

    A kernel without schedstat gives them in its ticks, of 10 ms mostly.

    Raises:
        reading.Unknown: neither is there.
    """
    try:
        return _schedstat(root, 0)
    except reading.Unknown:
        found = {}
        for thread, line in _of_threads(root, "stat").items():
            fields = line.rpartition(b")")[2].split()  # the name may hold spaces
            found[thread] = (int(fields[11]) + int(fields[12])) * TICK_NS
        return found


def _or_reason(reader: Any, *arguments: Any) -> Any:
    try:
        return reader(*arguments)
    except reading.Unknown as error:
        return str(error)


def _reason(*parts: object) -> str:
    return next(part for part in parts if isinstance(part, str))


def _schedstat(root: Path, field: int) -> dict[int, int]:
    """A field of schedstat by thread: 0 is time on a CPU, 1 time in the run queue, ns."""
    lines = _of_threads(root, "schedstat")
    return {thread: int(line.split()[field]) for thread, line in lines.items()}


def _of_threads(root: Path, name: str) -> dict[int, bytes]:
    """The first line of a file of each thread; threads that end meanwhile are left out."""
    folder = str(root / "proc/self/task")
    found = {}
    try:
        for thread in os.listdir(folder):  # noqa: PTH208 - Path is several times slower
            try:
                line = _bytes(f"{folder}/{thread}/{name}")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if line.strip():
                found[int(thread)] = line
    except OSError as error:
        raise reading.Unknown(f"/proc/self/task: {error.strerror}") from error
    if not found:
        raise reading.Unknown(f"/proc/self/task/*/{name}: this kernel does not have it")
    return found


def _bytes(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(handle, 1 << 16)
    finally:
        os.close(handle)


def _ticks(root: Path, cpus: frozenset[int]) -> tuple[int, int]:
    """Stolen and all ticks of `cpus` since boot. Guest time is part of user time already."""
    steal = passed = 0
    for line in reading.text(root, "/proc/stat").splitlines():
        if not line.startswith("cpu"):
            break
        name, *fields = line.split()
        if name != "cpu" and int(name[3:]) in cpus and len(fields) >= 8:
            steal += int(fields[7])
            passed += sum(map(int, fields[:8]))
    if not passed:
        raise reading.Unknown("/proc/stat: no steal time for these CPUs")
    return steal, passed


def _throttled_s(root: Path) -> float:
    total, known = 0.0, False
    for path in _cpu_stats(root):
        words = reading.text(root, path).split()
        for field, unit in (("throttled_usec", 1e-6), ("throttled_time", 1e-9)):
            if field in words:
                total += int(words[words.index(field) + 1]) * unit
                known = True
    if not known:
        raise reading.Unknown("no cgroup around this process counts throttling")
    return total


@functools.cache
def _cpu_stats(root: Path) -> tuple[str, ...]:
    """The cpu.stat of each cgroup around this process; looked up once."""
    folders = reading.cgroup_folders(root, "cpu")
    stats = (f"{folder}/cpu.stat" for folder in folders)
    return tuple(path for path in stats if (root / path.lstrip("/")).exists())


def _load_1m(root: Path) -> float:
    return float(reading.text(root, "/proc/loadavg").split()[0])
