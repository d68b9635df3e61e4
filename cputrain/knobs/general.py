"""The settings of a worker's process that every engine has."""

from __future__ import annotations

from cputrain.knobs.affinity import CpuAffinity
from cputrain.knobs.allocator import Allocator
from cputrain.knobs.clocked import Clocked
from cputrain.knobs.huge_pages import HugePages
from cputrain.knobs.knob import Knob
from cputrain.knobs.numa import Numa
from cputrain.knobs.pinning import Pinning
from cputrain.knobs.waiting import Waiting


def together_with(*own: Knob) -> tuple[Knob, ...]:
    """Every engine's settings and its `own`, in the order in which they are asked.

    Threads are looked at in every engine: none may be bound, or told how to wait, unasked.
    """
    threads = (CpuAffinity(), Numa(), Pinning(), Waiting())
    return (*threads, *own, Allocator(), HugePages(), Clocked())
