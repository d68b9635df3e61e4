"""What the built C library says of itself and of what is in force in it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from cputrain.engines import EngineError
from cputrain.engines.native_.binding import WHOLE, Functions
from cputrain.machine.mapped import file_of
from cputrain.machine.openmp import schedule_name

if TYPE_CHECKING:
    from cputrain.engines.native_.products import Given


def compiler(c: Functions) -> str:
    """The compiler's version, as it wrote it into the library."""
    version: bytes = c.compiler()
    return version.decode()


def require_stack(c: Functions) -> None:
    """Raise EngineError where a thread's stack is too small, which would end the process."""
    needed, left = c.stack_needed(), c.stack_left()
    if left < needed:
        raise EngineError(
            f"the native engine: a thread has {left >> 10} KiB of stack left and needs "
            f"{needed >> 10}: set OMP_STACKSIZE=1M, or raise ulimit -s"
        )


def readings(c: Functions, multiplier: Given | None) -> dict[str, Any]:
    """Everything that can be read back from the library.

    Args:
        c: the library.
        multiplier: what multiplies in the place of its own code.
    """
    from threadpoolctl import threadpool_info

    flushes = c.flush_to_zero()
    return {
        "library": file_of(c.compiler),
        "cc_version": compiler(c),
        "lanes": c.lanes(),
        "openmp_threads": c.threads(),
        "openmp_team": c.team(),
        "run_sched": schedule(c),
        "openmp": file_of(ctypes.c_void_p(c.openmp())),
        "flush_to_zero": None if flushes < 0 else bool(flushes),
        "blas": multiplier.described() if multiplier else None,
        "threadpools": threadpool_info(),
    }


def schedule(c: Functions) -> str:
    """What schedule(runtime) means, as OMP_SCHEDULE would say it: "static", "dynamic,4"."""
    kind_and_chunk = (WHOLE * 2)()
    c.schedule(kind_and_chunk)
    return schedule_name(*kind_and_chunk)
