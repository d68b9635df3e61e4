"""The OpenMP runtime that the engine calls in this process, asked through its own functions.

Several can be loaded: torch's libgomp stays mapped under a preloaded libiomp5, which has GNU's
entry points too and comes first in the linker's order. So what is mapped does not tell.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass

from cputrain.machine import mapped
from cputrain.machine.reading import Unknown

ENTRY = "GOMP_parallel"
"""What code compiled by GCC calls to start a parallel region."""
CALLERS = ("libtorch_cpu", "libcputrain_native")
"""The libraries of engines that compute on OpenMP's threads; a worker has one of them."""
SCHEDULES = {1: "static", 2: "dynamic", 3: "guided", 4: "auto"}
"""omp_sched_t by its number (OpenMP 5.1, omp.h)."""
MODIFIER = 0x80000000
"""omp_sched_monotonic, a bit beside the number."""
PROC_BIND = ("false", "true", "primary", "close", "spread", "intel")
"""omp_get_proc_bind by its number (OpenMP 5.1, omp.h); 5 is Intel's own KMP_AFFINITY."""


@dataclass(frozen=True)
class LoadedRuntime:
    """A loaded OpenMP runtime.

    Attributes:
        path: its file, links resolved.
        is_kmp: Intel's or LLVM's, which have the kmp_ functions and read KMP_ variables.
    """

    path: str
    is_kmp: bool


@dataclass(frozen=True)
class TeamMember:
    """A thread of a team: OpenMP's number, and the CPUs that it may run on."""

    number: int
    cpus: tuple[int, ...]


def serving() -> LoadedRuntime:
    """The runtime that the engine's parallel regions run in: who provides `GOMP_parallel` to it.

    Looked up as the linker does for the engine's library: the global scope first, preloads
    leading, then its own libraries.

    Raises:
        Unknown: no OpenMP runtime is loaded.
    """
    path = mapped.file_of(_scope()[ENTRY])
    return LoadedRuntime(path, hasattr(ctypes.CDLL(path), "kmp_get_blocktime"))


def _scope() -> ctypes.CDLL:
    for path in (None, *mapped.libraries(*CALLERS)):
        scope = ctypes.CDLL(path)
        if hasattr(scope, ENTRY):
            return scope
    raise Unknown("no OpenMP runtime is loaded")


def follows(runtime: LoadedRuntime, threads: Callable[[], int]) -> bool:
    """Whether a library's thread count is that of `runtime`: tried, and put back.

    Args:
        threads: the library's getter, such as torch.get_num_threads.
    """
    library, before = ctypes.CDLL(runtime.path), threads()
    library.omp_set_num_threads(before + 1)
    try:
        return threads() == before + 1
    finally:
        library.omp_set_num_threads(before)


def team() -> list[TeamMember]:
    """The threads of a parallel region of the default size, by OpenMP's number.

    They are the ones that the engine computes with: a runtime keeps its threads for the next region
    of the thread that started it.

    Raises:
        Unknown: no OpenMP runtime is loaded.
    """
    scope, members = _scope(), []

    def look(_: object) -> None:
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        members.append(TeamMember(scope.omp_get_thread_num(), cpus))

    region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(look)
    scope[ENTRY](region, None, ctypes.c_uint(0), ctypes.c_uint(0))
    return sorted(members, key=lambda member: member.number)


def proc_bind() -> str:
    """How the runtime binds the threads of the next region. Raises Unknown without one."""
    number = _scope().omp_get_proc_bind()
    return PROC_BIND[number] if 0 <= number < len(PROC_BIND) else str(number)


def blocktime_ms(runtime: LoadedRuntime) -> int:
    """Milliseconds that threads of a kmp runtime spin before they sleep."""
    return int(ctypes.CDLL(runtime.path).kmp_get_blocktime())


def schedule() -> str:
    """How loops of this thread whose schedule is left to the runtime are shared out: "dynamic,4".

    No number where the runtime shares them out evenly. Raises Unknown without a runtime.
    """
    kind, chunk = ctypes.c_int(), ctypes.c_int()
    _scope().omp_get_schedule(ctypes.byref(kind), ctypes.byref(chunk))
    return schedule_name(kind.value, chunk.value)


def schedule_name(kind: int, chunk: int) -> str:
    """A schedule as omp_get_schedule tells it, in the words of OMP_SCHEDULE."""
    number = kind & ~MODIFIER & 0xFFFFFFFF  # the modifier makes a C int negative
    name = SCHEDULES.get(number, str(number))
    return f"{name},{chunk}" if chunk > 0 else name
