"""Which library hands out this process's memory, and whether it keeps what is given back.

Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
from pathlib import Path

from cputrain.machine import mapped

SYMBOLS = ("malloc", "calloc", "realloc", "free", "posix_memalign")
"""What has to come from one library; torch's tensors are from the last."""
GLIBC = re.compile(r"libc(-2\.\d+)?\.so(\.6)?")
"""glibc's file name; before 2.34 it has the version."""
LARGE = 33 << 20
"""Bytes; over 32 MiB glibc maps every block and unmaps it when it is freed, unless told not to
(DEFAULT_MMAP_THRESHOLD_MAX in malloc.c, on 64-bit machines)."""


LARGEST_LEARNED = (32 << 20) - (64 << 10)
"""Bytes of the largest block whose return glibc learns from, about."""
TRIES = 4
"""Of a large block, after a first one."""


def raise_thresholds(size: int) -> None:
    """Take a block and give it back, unwritten, as who writes a checkpoint does with its buffer.

    glibc moves two thresholds up when a large block is freed: below the one, later blocks come
    from its heap; twice that much free memory at the end of the heap it keeps (mallopt(3),
    M_MMAP_THRESHOLD). Before that it gives memory back to the kernel at many a free, whose pages
    the next block has to fault in again. Other allocators take no notice.

    Args:
        size: of the buffer in bytes; `LARGEST_LEARNED` is taken where it is larger.

    Raises:
        MemoryError: there is no such block.
    """
    library = _library()
    block = library.malloc(min(size, LARGEST_LEARNED))
    if not block:
        raise MemoryError(f"malloc of {size} bytes failed")
    library.free(block)


def _library() -> ctypes.CDLL:
    """The process's malloc and free."""
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    library.free.restype, library.free.argtypes = None, (ctypes.c_void_p,)
    return library


def providers() -> list[str]:
    """The files that this process has `SYMBOLS` from, links resolved; one where all is well.

    A program that is not position-independent, such as Debian's python3, has an entry of its own
    for functions whose address it takes. It leads to the library, so what is found in the
    program counts only where everything is.
    """
    everything, program = ctypes.CDLL(None), os.path.realpath("/proc/self/exe")
    paths = {mapped.file_of(getattr(everything, symbol)) for symbol in SYMBOLS}
    return sorted(paths - {program} or {program})


def is_glibc(file: str) -> bool:
    """Whether a file of `providers` is the C library itself."""
    return GLIBC.fullmatch(Path(file).name) is not None


def faults_of_a_large_block() -> int:
    """Minor page faults of taking, writing and freeing `LARGE` bytes once more.

    The least of some tries after a first one: the kernel's moving of pages between nodes counts
    as faults too, and comes and goes. None to speak of where the block was kept from before;
    one for each page, at most 2 MiB, where it comes fresh from the kernel each time.

    Raises:
        MemoryError: there is no such block.
    """
    library = _library()
    counted = []
    for _ in range(1 + TRIES):
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        block = library.malloc(LARGE)
        if not block:
            raise MemoryError(f"malloc of {LARGE} bytes failed")
        ctypes.memset(block, 1, LARGE)
        library.free(block)
        counted.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)
    return min(counted[1:])
