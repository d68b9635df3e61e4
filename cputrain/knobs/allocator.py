"""Which library hands out memory."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain.knobs.inforce import Check
from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import library_search, malloc

if TYPE_CHECKING:
    from cputrain.experiment import Experiment

PRELOADED = ("jemalloc", "tcmalloc", "mimalloc")
TUNABLES = {
    "glibc.malloc.mmap_max": "0",
    "glibc.malloc.trim_threshold": str(1 << 40),
    "glibc.malloc.arena_max": "1",
}
"""So that glibc keeps large blocks: none has a mapping of its own, which would end with it; free
pages at the heap's end stay, up to 1 TiB of them; and every thread is served from that heap, as
those of other threads hold 64 MB at most. Raising mmap_threshold alone does not do: a thread that
is not the first still has its large blocks mapped one by one.
"""
FEW = 8
"""Page faults of a block that was kept; a fresh one has 17 at least, in huge pages of 2 MiB."""


class Allocator(Knob):
    """The library that hands out memory: glibc, or another one in front of it."""

    def why_not(self, experiment: Experiment) -> str | None:
        """It is not installed; glibc's settings need glibc."""
        allocator = experiment.system.allocator
        if allocator in PRELOADED:
            return library_search.why_not(allocator)
        if allocator == "glibc_thresholds" and not _has_glibc():
            return "the C library here is not glibc, whose thresholds these are"
        return None

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        """glibc's thresholds."""
        if experiment.system.allocator != "glibc_thresholds":
            return {}
        return {"GLIBC_TUNABLES": ":".join(f"{k}={v}" for k, v in TUNABLES.items())}

    def preload(self, experiment: Experiment) -> tuple[str, ...]:
        """The library."""
        allocator = experiment.system.allocator
        return (str(library_search.find(allocator)),) if allocator in PRELOADED else ()

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        """Where malloc really is, as the loader only warns of a library that it cannot load."""
        allocator, providers = experiment.system.allocator, malloc.providers()
        name = f"allocator {allocator}: file that has malloc"
        if allocator in PRELOADED:
            expected = os.path.realpath(library_search.find(allocator))
            return [
                Check(
                    name,
                    expected,
                    " and ".join(providers),
                    providers == [expected] and not malloc.is_glibc(expected),
                )
            ]
        is_glibc = len(providers) == 1 and malloc.is_glibc(providers[0])
        checks = [Check(name, "glibc's", " and ".join(providers), is_glibc or not _has_glibc())]
        if allocator == "glibc_thresholds":
            checks += [tunables(), kept()]
        return checks


def tunables(environ: Path = Path("/proc/self/environ")) -> Check:
    """Whether this process was started with the thresholds; others may stand beside them.

    The kernel shows the memory that the variables were handed over in, and glibc (2.36 does)
    may have put a zero for each colon there.
    """
    words = os.fsdecode(environ.read_bytes()).split("\0")
    starts = [n for n, word in enumerate(words) if word.startswith("GLIBC_TUNABLES=")]
    settings = []
    for n in starts[:1]:
        rest = itertools.takewhile(lambda word: word.startswith("glibc."), words[n + 1 :])
        settings = ":".join([words[n].partition("=")[2], *rest]).split(":")
    expected = [f"{key}={value}" for key, value in TUNABLES.items()]
    ok = set(expected) <= set(settings)
    return Check(
        "GLIBC_TUNABLES at the start", ":".join(expected), ":".join(settings) or "not set", ok
    )


def kept() -> Check:
    """Whether a large block that was freed is there again without the kernel's help."""
    faults = malloc.faults_of_a_large_block()
    name = f"page faults of a freed block of {malloc.LARGE >> 20} MiB, taken again"
    return Check(name, f"at most {FEW}", faults, faults <= FEW)


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):
        return False
