"""How far apart two CPUs are: the time that a cache line takes from one to the other and back.

A hypervisor may put two CPUs of a virtual machine on cores that share a cache, and minutes later on
cores that do not; nothing that the guest can read says so. Threads that train together hand their
arrays from core to core: on an EPYC a step of the baseline took 1.3 times as long while a round
trip took 345 ns as while it took 57, and on one thread as long in both (docs/figures/places.md).

Two threads, bound to one CPU each, write to one cache line in turns. The code is machine code, as
that of `clock`: an interpreter takes longer for a turn than the line does.

Standard library only; no compiler is needed.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import statistics
import time
from collections.abc import Callable

from cputrain.machine import two_cpus
from cputrain.machine.code import mapped
from cputrain.machine.reading import Unknown

TURNS = 256
"""Round trips of one reading: 15 to 100 µs."""
READINGS = 15
"""Of which the median counts: an interruption, and the start of a thread, spoil one of them."""
POLLS = 20_000_000
"""Looks at the line after which the other thread is given up: some hundredths of a second."""

_X86_64 = """
    8b 07  39 d0  74 07     # look: mov eax, [rdi]; cmp eax, edx; je mine
    48 ff c9  75 f5  eb 0b  # dec rcx; jnz look; jmp end
    ff c2  89 17  ff c2     # mine: inc edx; mov [rdi], edx; inc edx
    48 ff ce  75 e8         # dec rsi; jnz look
    48 89 f0  c3            # end: mov rax, rsi; ret
"""
_AARCH64 = (
    *(0x88DFFC04, 0x6B02009F, 0x54000080),  # look: ldar w4, [x0]; cmp w4, w2; b.eq mine
    *(0xF1000463, 0x54FFFF81, 0x14000006),  # subs x3, x3, #1; b.ne look; b end
    *(0x11000442, 0x889FFC02, 0x11000442),  # mine: add w2, w2, #1; stlr w2, [x0]; add w2, w2, #1
    *(0xF1000421, 0x54FFFEC1),  # subs x1, x1, #1; b.ne look
    *(0xAA0103E0, 0xD65F03C0),  # end: mov x0, x1; ret
)
CODE = {
    "x86_64": bytes.fromhex(
        " ".join(line.split("#")[0].strip() for line in _X86_64.strip().splitlines())
    ),
    "aarch64": b"".join(word.to_bytes(4, "little") for word in _AARCH64),
}
"""A function of a line's address, turns, the number to wait for first, and looks at most.

It waits for its number in the line, writes the next one, and waits for the one after that; it
returns the turns that are left.
"""


def between(cpu: int, other: int) -> float:
    """Nanoseconds of a round trip between two CPUs: a median.

    Raises:
        Unknown: there is no code for this architecture, none can be mapped, a CPU is not ours, or
            something else has one of the CPUs meanwhile.
    """
    code = CODE.get(platform.machine())
    if code is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise Unknown(f"no code for round trips on {platform.machine()}")
    arguments = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64)
    with mapped(code) as address, mmap.mmap(-1, mmap.PAGESIZE) as page:
        line = ctypes.c_uint32.from_buffer(page)
        try:
            call = ctypes.CFUNCTYPE(ctypes.c_uint64, *arguments)(address)
            return _between(call, ctypes.addressof(line), cpu, other)
        finally:
            del line


def _between(call: Callable[[int, int, int, int], int], line: int, cpu: int, other: int) -> float:
    each_ns: list[float] = []

    def start() -> bool:
        for first in range(0, 2 * TURNS * READINGS, 2 * TURNS):
            begin = time.perf_counter_ns()
            if call(line, TURNS, first, POLLS):
                return False
            each_ns.append((time.perf_counter_ns() - begin) / TURNS)
        return True

    def answer() -> bool:
        return not call(line, TURNS * READINGS, 1, POLLS * READINGS)

    two_cpus.run((other, answer), (cpu, start))
    return statistics.median(each_ns)
