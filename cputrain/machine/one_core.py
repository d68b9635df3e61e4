"""Whether two CPUs are one core: how much longer each computes while the other one does.

The two threads of a core share its units. A hypervisor may put two CPUs of a virtual machine on
them, and a second later on cores of their own; nothing that the guest can read says so. On an EPYC
a step of JAX's baseline took 74 ms on one core and 48 on two that share a cache
(docs/figures/places.md).

A thread makes additions that keep all units busy, first while the other one waits for square roots
of square roots, then while that one makes as many. On one core that took 1.75 times as long, where
PAUSE or LFENCE instead of the roots left the adding thread so little of it that it was 1.2 and 1.1.
What other guests do on the cores' second threads slows both alike. The code is machine code, as
that of `clock`.

Standard library only; no compiler is needed.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import statistics

from cputrain.machine import two_cpus
from cputrain.machine.code import mapped
from cputrain.machine.reading import Unknown

TURNS = 8192
"""Of 14 additions each, in one reading: about 10 µs."""
READINGS = 9
"""Of which the median counts."""
POLLS = 1_000_000
"""Looks at a line after which the other thread is given up: some hundredths of a second."""

_LINE = 128
"""Bytes from one thread's line to the other's: CPUs fetch two lines of 64 at a time."""

CODE = bytes.fromhex(
    """
    53554154415541564157
    4d85c9 7502 8917
    f2490f2ac0 f20f51c0 f20f51c0 f20f51c0 f20f51c0 f20f51c0 f20f51c0 f20f51c0 f20f51c0
    66480f7ec0 83e000 4801f0
    3910 7409 49ffc8 75c7 31c0 eb65
    89d6
    4989ce 0f31 48c1e220 4809d0 4989c7
    4c01c0 4c01c3 4c01c5 4d01c2 4d01c3 4d01c4 4d01c5 4c01c0 4c01c3 4c01c5 4d01c2 4d01c3 4d01c4
    4d01c5
    49ffce 75d1
    0f31 48c1e220 4809d0 4c29f8
    4d85c9 740f 498901 4983c108 3937 7404 8937 eba2
    b801000000 415f415e415d415c5d5b c3
    """
)
"""Of x86-64: a function of the own line's address, the other's, a number, turns, looks at most, and
where two counts of the time stamp go.

Without a place for counts it writes the number to its line, waits for it in the other one, and
adds. With one it waits first, adds, counts, writes the number, adds and counts once more. It
returns 0 where it has given up. Its source is in the test.
"""


def at_once(cpu: int, other: int) -> float:
    """The time of additions on both CPUs at once over that on one of them: a median.

    About 1 on cores of their own, up to 2 on one core.

    Raises:
        Unknown: there is no code for this architecture, none can be mapped, a CPU is not ours, or
            something else has one of the CPUs meanwhile.
    """
    if platform.machine() != "x86_64" or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise Unknown(f"no code for additions on {platform.machine()}")
    pointer, count = ctypes.c_void_p, ctypes.c_uint64
    arguments = (pointer, pointer, ctypes.c_uint32, count, count, pointer)
    with mapped(CODE) as address, mmap.mmap(-1, mmap.PAGESIZE) as page:
        start = ctypes.c_char.from_buffer(page)
        try:
            call = ctypes.CFUNCTYPE(ctypes.c_uint64, *arguments)(address)
            own = ctypes.addressof(start)
            counts = (ctypes.c_uint64 * (2 * READINGS))()

            def measure() -> bool:
                return all(
                    call(own, own + _LINE, n + 1, TURNS, POLLS, ctypes.addressof(counts) + 16 * n)
                    for n in range(READINGS)
                )

            def beside() -> bool:
                return all(
                    call(own + _LINE, own, n + 1, TURNS, POLLS, None) for n in range(READINGS)
                )

            two_cpus.run((other, beside), (cpu, measure))
            pairs = zip(counts[::2], counts[1::2], strict=True)
            return statistics.median(both / alone for alone, both in pairs)
        finally:
            del start
