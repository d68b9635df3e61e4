"""The system part of an experiment: what the worker process and the machine under it are given.

Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from cputrain.experiment.fields import one_of, real, refuse, whole_or_none

AFFINITIES = (
    *("default", "one_per_core", "siblings", "one_socket", "scattered"),
    *("performance_cores", "efficiency_cores"),
)
PINNINGS = ("none", "close", "spread", "explicit")
WAIT_POLICIES = ("default", "active", "passive", "spin_0")
OMP_RUNTIMES = ("libgomp", "libiomp5")
OMP_SCHEDULES = ("static", "static,1", "dynamic", "dynamic,4", "guided")
ALLOCATORS = ("glibc", "glibc_thresholds", "jemalloc", "tcmalloc", "mimalloc")
INSTRUCTION_SETS = ("native", "avx2", "baseline")
NUMA_POLICIES = ("default", "local", "interleave", "one_node")
HUGE_PAGES = ("default", "never", "madvise", "always")
GOVERNORS = ("as_found", "performance", "powersave", "schedutil", "ondemand", "conservative")
ENERGY_PREFERENCES = (
    *("as_found", "performance", "balance_performance", "balance_power", "power"),
)
TURBO = ("as_found", "on", "off")
MOST = dict.fromkeys(
    ("cores", "threads", "processes", "intra_op_threads", "inter_op_threads"), 4096
)
"""The most that a count may be: more than a machine has CPUs, and torch starts as many threads on
a small one; at 16384 OpenMP could start no more there, far beyond that torch crashes."""
MIN, MAX = "min", "max"
"""frequency_ghz: the lowest and the highest that each of the CPUs can be set to."""


@dataclass(frozen=True, kw_only=True)
class System:
    """What the worker process is given, and what is changed on the machine for it.

    Attributes:
        cores: CPUs in its affinity mask, whole physical cores first; None is all allowed.
        threads: compute threads; None is one for each physical core in the mask.
        preload: shared libraries loaded before everything else, absolute paths.
        affinity: which CPUs: default (by `cores`); one_per_core; siblings (as many CPUs and
            threads as cores, on half of them); one_socket; scattered (as many CPUs as one
            socket has cores, in turns from each socket); performance_cores, efficiency_cores (one
            CPU on each of a hybrid processor's cores of that kind).
        pinning: how OpenMP's threads are bound: none, close, spread, explicit (CPU by CPU).
        wait_policy: what OpenMP's threads do while they wait: default, active (spin), passive
            (sleep), spin_0 (sleep at once, by the runtime's own setting).
        omp_runtime: the OpenMP library; libgomp is the one that torch ships.
        omp_schedule: how OpenMP shares out the native engine's loops: OMP_SCHEDULE, the number
            is the turns that a thread takes at a time.
        processes: that train together by torchrun and DDP, threads and mask shared out between
            them, as is the batch; None is one process without either.
        intra_op_threads: torch.set_num_threads; None is not called.
        inter_op_threads: torch.set_num_interop_threads; None is not called.
        allocator: of the process; glibc_thresholds keeps large blocks instead of returning them.
        instruction_set: the most that the libraries may use: native, avx2, baseline (SSE).
        numa_policy: where pages go: default (the kernel's), local, interleave, one_node (CPUs
            and pages of the first node).
        huge_pages: transparent huge pages: default (as the machine has them), never, madvise
            (the allocator asks for them), always.
        frequency_ghz: lowest and highest clock of the mask's CPUs, GHz, "min" or "max"; None
            leaves it.
        governor, energy_preference, turbo: of cpufreq; as_found leaves them.
    """

    cores: int | None = None
    threads: int | None = None
    preload: tuple[str, ...] = ()
    affinity: str = "default"
    pinning: str = "none"
    wait_policy: str = "default"
    omp_runtime: str = "libgomp"
    omp_schedule: str = "static"
    processes: int | None = None
    intra_op_threads: int | None = None
    inter_op_threads: int | None = None
    allocator: str = "glibc"
    instruction_set: str = "native"
    numa_policy: str = "default"
    huge_pages: str = "default"
    frequency_ghz: float | str | None = None
    governor: str = "as_found"
    energy_preference: str = "as_found"
    turbo: str = "as_found"

    def __post_init__(self) -> None:
        for name, most in MOST.items():
            whole_or_none(self, name, most)
        for name, allowed in NAMES.items():
            one_of(self, name, allowed)
        if isinstance(self.frequency_ghz, str):
            one_of(self, "frequency_ghz", (MIN, MAX))
        elif self.frequency_ghz is not None:
            real(self, "frequency_ghz", 0.1, 10.0)
        for path in self.preload:
            if not isinstance(path, str) or not path.startswith("/"):
                refuse("preload", path, "an absolute path is needed")
            if set(path) & set(" :\n"):
                refuse("preload", path, "the loader cannot take a path with a space or colon")


NAMES = {
    "affinity": AFFINITIES,
    "pinning": PINNINGS,
    "wait_policy": WAIT_POLICIES,
    "omp_runtime": OMP_RUNTIMES,
    "omp_schedule": OMP_SCHEDULES,
    "allocator": ALLOCATORS,
    "instruction_set": INSTRUCTION_SETS,
    "numa_policy": NUMA_POLICIES,
    "huge_pages": HUGE_PAGES,
    "governor": GOVERNORS,
    "energy_preference": ENERGY_PREFERENCES,
    "turbo": TURBO,
}
"""Fields that are one of some names, and the names."""
