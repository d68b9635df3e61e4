"""Transparent huge pages.

never: prctl(2)'s PR_SET_THP_DISABLE, which a process passes on over fork and exec.

madvise: glibc asks for them (glibc.malloc.hugetlb=1, glibc 2.35 and later) for its heaps and
for each block that it maps, from the size of a huge page on. It asks only where the machine's
mode is madvise. Tried in workers: 190 of 308 MiB of anonymous memory were in huge pages on the
baseline model, 554 of 678 with 32 000 rows of vocabulary. torch's own THP_MEM_ALLOC_ENABLE=1
asks only for single blocks of 2 MiB and more: none on the baseline model. NumPy asks for its
arrays of 4 MiB and more whatever is set, so huge pages alone do not show that glibc asks.

always: the mode of the whole machine, which the sweep changes where it is allowed to.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import pages, reading

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

PR_SET_THP_DISABLE = 41
PR_GET_THP_DISABLE = 42
TUNABLE = "glibc.malloc.hugetlb=1"
PROBE_BYTES = 65 << 20
"""Larger than the largest threshold above which glibc maps a block of its own (32 MiB)."""


def disabled() -> int:
    """prctl(PR_GET_THP_DISABLE): 1 where this process gets no huge pages, -1 if unsupported."""
    return int(ctypes.CDLL(None).prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0))


def glibc() -> tuple[int, int] | None:
    """Version of the C library, None where it is another one."""
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return None
    match = re.match(r"glibc (\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None


def malloc_asks(root: Path = reading.ROOT) -> bool:
    """Whether this process's malloc asks for huge pages: a large block is taken, not touched.

    Raises:
        reading.Unknown: it gave no block, or the kernel does not show what was asked.
    """
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    block = libc.malloc(PROBE_BYTES)
    if not block:
        raise reading.Unknown(f"malloc: no block of {PROBE_BYTES >> 20} MiB")
    try:
        return pages.asks_for_huge_pages(block + PROBE_BYTES // 2, root)
    finally:
        libc.free(block)


def reason(setting: str, root: Path = reading.ROOT) -> str | None:
    """Why this machine cannot have `setting`.

    For "always" its mode may have to be changed; whether that may be is said elsewhere.
    """
    if setting == "default":
        return None
    try:
        mode = pages.huge_page_mode(root)
    except reading.Unknown as unknown:
        return f"the kernel has no transparent huge pages: {unknown}"
    if setting == "never" and disabled() < 0:
        return "the kernel cannot keep huge pages from one process (prctl PR_SET_THP_DISABLE)"
    if setting != "madvise":
        return None
    if mode != "madvise":
        why = "gives none, also to who asks" if mode == "never" else "gives them unasked"
        command = f"echo madvise | sudo tee {pages.ENABLED}"
        return f"the machine's huge-page mode is {mode!r}: it {why}; {command}"
    version = glibc()
    if version is None:
        return "the C library is not glibc, and no other can be told to ask for huge pages"
    if version < (2, 35):
        return f"glibc {version[0]}.{version[1]} does not ask for huge pages: 2.35 is needed"
    return None


class HugePages(Knob):
    """Transparent huge pages for this process: never, where the allocator asks, or always."""

    def why_not(self, experiment: Experiment) -> str | None:
        return reason(experiment.system.huge_pages)

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        asks = experiment.system.huge_pages == "madvise"
        return {"GLIBC_TUNABLES": TUNABLE} if asks else {}

    def before_exec(self, experiment: Experiment) -> Callable[[], None] | None:
        if experiment.system.huge_pages != "never":
            return None
        libc = ctypes.CDLL(None)

        def disable() -> None:
            libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)  # if it fails, the check below says so

        return disable

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        return in_force(experiment.system.huge_pages)


def in_force(setting: str, root: Path = reading.ROOT) -> list[Check]:
    """Whether this process's huge pages are what `setting` says.

    Some are needed to show that they are given; the baseline model has blocks enough.
    """
    from cputrain.knobs.inforce import Check, same

    if setting == "default":
        return []
    checks = []
    try:
        if setting == "never":
            checks.append(same("prctl(PR_GET_THP_DISABLE)", 1, disabled()))
        elif setting == "madvise":
            checks.append(same("malloc asks for huge pages", True, malloc_asks(root)))
        else:
            checks.append(same("the machine's huge-page mode", setting, pages.huge_page_mode(root)))
        huge_bytes = pages.anon_huge_bytes(root)
    except reading.Unknown as unknown:
        return [*checks, Check("huge pages", setting, f"cannot be shown: {unknown}", False)]
    expected, ok = ("0", huge_bytes == 0) if setting == "never" else ("> 0", huge_bytes > 0)
    return [*checks, Check("bytes in huge pages", expected, huge_bytes, ok)]
