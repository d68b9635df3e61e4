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
from typing import Any, NamedTuple

from cputrain.machine import reading, threads


class Ticks(NamedTuple):
    """Time of some CPUs since boot, in the kernel's ticks."""

    stolen: int
    busy: int
    passed: int


@dataclass(frozen=True)
class Snapshot:
    """One reading; each part is a value or the reason why there is none.

    Attributes:
        wall_ns: the clock.
        queued_ns: time spent ready in the run queue so far, by thread id.
        ticks: time of the CPUs of the mask: stolen, busy with whatever ran here, and all.
        throttled_s: CPU-seconds that quotas have held back so far, by the cgroup's file: the kernel
            adds up what it held back on each CPU.
        usage: the process's faults and switches so far.
        load_1m: load average of the last minute.
    """

    wall_ns: int
    queued_ns: dict[int, int] | str
    ticks: Ticks | str
    throttled_s: dict[str, float] | str
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
        queued_ns=_or_reason(threads.queued_by_thread, root),
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
    others_cpu_s: CPU time of the mask that others than this process used; to the kernel's tick
        for each CPU, of 10 ms mostly.
    throttled_s: CPU-seconds held back by the quota of the cgroup that held back most: what one of
        those around this process holds back the others do not let run either.
    load_1m: at `b`.
    """
    wall_ns = b.wall_ns - a.wall_ns
    events: dict[str, Any] = {"wall_s": wall_ns / 1e9}

    def put(name: str, value: float | str) -> None:
        events[name] = None if isinstance(value, str) else value
        if isinstance(value, str):
            events[f"{name}_reason"] = value

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
        events[name] = getattr(b.usage, field) - getattr(a.usage, field)
    if isinstance(a.ticks, str) or isinstance(b.ticks, str):
        for name in ("steal_share", "others_cpu_s"):
            put(name, _reason(a.ticks, b.ticks))
    else:
        stolen, busy, passed = (now - then for now, then in zip(b.ticks, a.ticks, strict=True))
        put("steal_share", stolen / passed if passed > 0 else "shorter than the kernel's tick")
        put("others_cpu_s", max(0.0, busy * threads.TICK_NS / 1e9 - (_used_s(b) - _used_s(a))))
    if isinstance(a.throttled_s, str) or isinstance(b.throttled_s, str):
        put("throttled_s", _reason(a.throttled_s, b.throttled_s))
    else:
        held = (s - a.throttled_s.get(group, s) for group, s in b.throttled_s.items())
        put("throttled_s", max(held))
    put("load_1m", b.load_1m)
    return events


def _used_s(snapshot: Snapshot) -> float:
    return snapshot.usage.ru_utime + snapshot.usage.ru_stime


def _or_reason(reader: Any, *arguments: Any) -> Any:
    try:
        return reader(*arguments)
    except reading.Unknown as error:
        return str(error)


def _reason(*parts: object) -> str:
    return next(part for part in parts if isinstance(part, str))


def _ticks(root: Path, cpus: frozenset[int]) -> Ticks:
    """Those of `cpus`. Guest time is part of user time already."""
    stolen = busy = passed = 0
    for line in reading.text(root, "/proc/stat").splitlines():
        if not line.startswith("cpu"):
            break
        name, *fields = line.split()
        if name != "cpu" and int(name[3:]) in cpus and len(fields) >= 8:
            user, nice, system, idle, io_wait, irq, soft_irq, steal = map(int, fields[:8])
            used = user + nice + system + irq + soft_irq
            stolen, busy = stolen + steal, busy + used
            passed += used + idle + io_wait + steal
    if not passed:
        raise reading.Unknown("/proc/stat: no times of these CPUs")
    return Ticks(stolen, busy, passed)


def _throttled_s(root: Path) -> dict[str, float]:
    """By the file of each cgroup that counts it. Raises reading.Unknown where none does."""
    counted = {}
    for path in _cpu_stats(root):
        words = reading.text(root, path).split()
        for field, unit in (("throttled_usec", 1e-6), ("throttled_time", 1e-9)):
            if field in words:
                counted[path] = int(words[words.index(field) + 1]) * unit
    if not counted:
        raise reading.Unknown("no cgroup around this process counts throttling")
    return counted


@functools.cache
def _cpu_stats(root: Path) -> tuple[str, ...]:
    """The cpu.stat of each cgroup around this process; looked up once."""
    folders = reading.cgroup_folders(root, "cpu")
    stats = (f"{folder}/cpu.stat" for folder in folders)
    return tuple(path for path in stats if (root / path.lstrip("/")).exists())


def _load_1m(root: Path) -> float:
    return float(reading.text(root, "/proc/loadavg").split()[0])
