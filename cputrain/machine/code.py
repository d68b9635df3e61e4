"""Machine code that this process maps and calls: no compiler is needed. Standard library only."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

from cputrain.machine.reading import Unknown


@contextmanager
def mapped(code: bytes) -> Iterator[int]:
    """The address of the code in a page that is written first and executable afterwards.

    Raises:
        Unknown: the system refuses such pages.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    size = -(-len(code) // mmap.PAGESIZE) * mmap.PAGESIZE
    page = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.c_char.from_buffer(page)
    try:
        page.write(code)
        address = ctypes.addressof(start)
        protection = mmap.PROT_READ | mmap.PROT_EXEC
        if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), protection):
            why = os.strerror(ctypes.get_errno())
            raise Unknown(f"this system lets no program make code of its own: {why}")
        _clear_instruction_cache(address, len(code))
        yield address
    finally:
        del start
        page.close()


def _clear_instruction_cache(address: int, size: int) -> None:
    """What Arm needs before new code may run; x86 sees to it by itself. Raises Unknown."""
    if platform.machine() != "aarch64":
        return
    try:
        clear = ctypes.CDLL("libgcc_s.so.1").__clear_cache
    except (OSError, AttributeError) as error:
        raise Unknown(f"new code cannot be made visible to the CPU: {error}") from error
    clear(ctypes.c_void_p(address), ctypes.c_void_p(address + size))
