"""Measured memory bandwidth: the triad a = b + s c over arrays that no cache can hold.

Counted as STREAM does (McCalpin, "Memory bandwidth and machine balance in current high
performance computers", 1995): two arrays read and one written, 24 bytes per element. What the
hardware reads of `a` before it writes it (write allocate) is not counted, so the memory may
have moved a third more.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cputrain.machine import memory, reading
from cputrain.machine.fastest import fastest_s

FIELD = "bandwidth_bytes_per_s"
"""The field of machine.json that has it by number of threads."""

CACHES = 4
"""An array has at least so many times the bytes of the last-level caches in use."""
SMALLEST = 32 << 20
"""Bytes of an array at least, for machines with small caches."""
SHARE = 0.5
"""Of the free memory that the three arrays may take."""
FEWEST = 3
"""Readings at least."""
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def array_bytes(cpus: Sequence[int], root: Path = reading.ROOT) -> int:
    """Bytes of each of the three arrays for threads on these CPUs.

    Raises:
        reading.Unknown: the caches are not known, or there is not enough free memory.
    """
    cache = last_level_bytes(cpus, root)
    size = max(CACHES * cache, SMALLEST)
    free = memory.available_memory(root)
    if 3 * size > SHARE * free:
        raise reading.Unknown(
            f"three arrays of {size >> 20} MiB, {CACHES} times the caches, do not fit in "
            f"{SHARE:.0%} of the {free >> 20} MiB of free memory"
        )
    return size


def last_level_bytes(cpus: Sequence[int], root: Path = reading.ROOT) -> int:
    """Bytes of all last-level caches that these CPUs use, each counted once. Raises Unknown."""
    caches: dict[str, int] = {}
    for cpu in cpus:
        level, shared, size = max(_caches(root, cpu))
        caches[f"{level} {shared}"] = size
    return sum(caches.values())


def _caches(root: Path, cpu: int) -> list[tuple[int, str, int]]:
    """Level, CPUs that share it, and bytes of every cache for data of a CPU."""
    caches = []
    for folder in root.glob(f"sys/devices/system/cpu/cpu{cpu}/cache/index[0-9]*"):
        name = f"/{folder.relative_to(root)}"
        try:
            if reading.text(root, f"{name}/type") == "Instruction":
                continue
            level = reading.number(root, f"{name}/level")
            shared = reading.text(root, f"{name}/shared_cpu_list")
            size = re.fullmatch(r"(\d+)([KMG]?)", reading.text(root, f"{name}/size"))
        except reading.Unknown:
            continue  # one cache that says too little
        if size:
            caches.append((level, shared, int(size[1]) * UNITS[size[2]]))
    if not caches:
        raise reading.Unknown(
            f"/sys/devices/system/cpu/cpu{cpu}/cache: no cache listed, so no array is surely "
            "larger than all"
        )
    return caches


def best_bandwidth(
    triad: Callable[[int], Callable[[], object]],
    size: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The best of many readings, bytes/s.

    Args:
        triad: makes three arrays of so many bytes each and gives what runs over them once.
        size: of an array, bytes.
        seconds: for all readings and the arrays; a slow machine takes `FEWEST` readings.
        clock: seconds.
    """
    end = clock() + seconds
    return 3 * size / fastest_s(triad(size), FEWEST, end, clock)


def torch_triad(size: int) -> Callable[[], object]:
    """The triad in float64 by torch's own parallel loops.

    Those give every thread one contiguous part, the same for arrays of the same length (static
    chunks by thread number: aten/src/ATen/ParallelOpenMP.h), so `fill_` puts each page on the
    node of the thread that will use it.
    """
    import torch

    n = size // 8
    a, b, c = (torch.empty(n, dtype=torch.float64).fill_(value) for value in (0.0, 1.0, 2.0))
    return lambda: torch.add(b, c, alpha=3.0, out=a)
