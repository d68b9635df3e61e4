"""What a page of memory costs that the kernel gives anew: taken, cleared, written, given back.

A virtual machine may hand free memory back to its host, and then a page costs several times as
much as in another hour: it is measured when it is wanted. Standard library only.
"""

from __future__ import annotations

import ctypes
import mmap
import statistics
import time

BYTES = 64 << 20
PAGE = 4096
TRIES = 5


def page_s(is_huge: bool = False) -> float:
    """Seconds that a page of 4 KiB takes a thread, beyond its writing; about 0.4 s go by.

    Args:
        is_huge: the kernel is asked for huge pages, as glibc.malloc.hugetlb=1 does.

    Returns:
        The median of some tries after a first one.

    Raises:
        OSError: there is no such block of memory.
    """
    return statistics.median([_try(is_huge) for _ in range(1 + TRIES)][1:])


def _try(is_huge: bool) -> float:
    block = mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if is_huge:
        block.madvise(mmap.MADV_HUGEPAGE)
    view = (ctypes.c_char * BYTES).from_buffer(block)
    at = ctypes.addressof(view)
    times = [time.perf_counter()]
    for _ in range(2):
        ctypes.memset(at, 1, BYTES)
        times.append(time.perf_counter())
    del view  # a mapping that is in use cannot be closed
    block.close()
    first, again = times[1] - times[0], times[2] - times[1]
    back = time.perf_counter() - times[2]
    return max(0.0, first - again + back) / (BYTES // PAGE)
