"""What on this machine disturbs measurements, what is missing, and what to do about it."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cputrain.machine import (
    busy,
    memory,
    noise,
    optional_pieces,
    pages,
    processors,
    reading,
    surroundings,
)
from cputrain.machine.finding import Finding, looked

REPORTING = 5
"""Place of VIRTIO_BALLOON_F_REPORTING among a balloon's feature bits."""


def findings(root: Path = reading.ROOT, watch_s: float = 1.0) -> list[Finding]:
    """Everything that is looked at. `watch_s` seconds are spent on watching who uses the CPUs."""
    return [
        *processors.findings(root),
        *looked(_LOOKS, root),
        *surroundings.findings(root),
        *_watch(root, watch_s),
        *optional_pieces.findings(root),
    ]


def _load(root: Path) -> Finding:
    load = float(reading.text(root, "/proc/loadavg").split()[0])
    what = f"load: {load:g} over the last minute"
    if load <= 0.1 * len(os.sched_getaffinity(0)) + 0.1:
        return Finding("ok", what)
    return Finding("warn", what, "stop what else is running, or wait a minute")


def _huge_pages(root: Path) -> Finding:
    return Finding("ok", f"transparent huge pages: {pages.huge_page_mode(root)}")


def _swap(root: Path) -> Finding:
    used = memory.meminfo(root, "SwapTotal") - memory.meminfo(root, "SwapFree")
    if used < 64 << 20:
        return Finding("ok", "swap: not in use")
    what = f"swap: {used / 2**30:.1f} GiB in use"
    return Finding("warn", what, "free memory, then sudo swapoff -a && sudo swapon -a")


def _memory(root: Path) -> Finding:
    free = memory.available_memory(root)
    what = f"memory: {free / 2**30:.1f} GiB available"
    if free >= 4 << 30:
        return Finding("ok", what)
    return Finding("warn", what, "free some: the largest cells need 4 GiB and are skipped without")


def _page_watch(root: Path) -> Finding:
    """Whether DAMON runs (the kernel's Documentation/admin-guide/mm/damon/usage.rst).

    At each look its thread marks thousands of pages, which takes a CPU for about 10 ms.
    """
    for switch, off in (
        ("sys/kernel/mm/damon/admin/kdamonds/[0-9]*/state", "off"),
        ("sys/module/damon_*/parameters/enabled", "N"),
    ):
        for file in sorted(root.glob(switch)):
            path = f"/{file.relative_to(root)}"
            if reading.text(root, path) in ("on", "Y"):
                what = "DAMON: a thread of the kernel, kdamond, takes a CPU to look at pages"
                return Finding("warn", what, f"echo {off} | sudo tee {path}, if nobody needs it")
    return Finding("ok", "DAMON: off")


def _page_reporting(root: Path) -> Finding:
    """Whether free pages go back to the host (VIRTIO_BALLOON_F_REPORTING, virtio 1.2, 5.5.3).

    In the seconds after 8 GB were freed, four steps that fault in 350 MB took 0.35 to 1.10 s while
    the guest named 576 to 704 MiB of its free pages, and 0.28 to 0.39 s else.
    """
    for file in sorted(root.glob("sys/bus/virtio/drivers/virtio_balloon/virtio*/features")):
        features = reading.text(root, f"/{file.relative_to(root)}")
        if features[REPORTING : REPORTING + 1] == "1":
            what = "free page reporting: on; page faults take longer after memory was freed"
            do = "trust several passes of cells with many page faults, or start the VM without it"
            return Finding("warn", what, do)
    return Finding("ok", "free page reporting: off")


def _schedstat(root: Path) -> Finding:
    reason = noise.read(root).queued_ns
    if not isinstance(reason, str):
        return Finding("ok", "run-queue delay: readable")
    what = f"run-queue delay: {reason}; disturbed samples cannot be told"
    return Finding("warn", what, "use a kernel with CONFIG_SCHED_INFO")


_LOOKS: dict[str, Callable[[Path], Finding]] = {
    "load": _load,
    "transparent huge pages": _huge_pages,
    "swap": _swap,
    "memory": _memory,
    "DAMON": _page_watch,
    "free page reporting": _page_reporting,
    "run-queue delay": _schedstat,
}


def _watch(root: Path, seconds: float) -> Iterator[Finding]:
    """Steal, and other processes that use the CPUs, over some seconds."""
    start, before = noise.read(root), busy.processes(root)
    time.sleep(seconds)
    steal = noise.between(start, noise.read(root))
    if steal["steal_share"] is None:
        yield Finding("unknown", f"steal: {steal['steal_share_reason']}")
    elif steal["steal_share"] > 0.01:
        what = f"steal: {steal['steal_share'] * 100:.0f} % of the CPU time went to other guests"
        yield Finding("warn", what, "measure at another hour, or on another host")
    else:
        yield Finding("ok", "steal: none to speak of")
    heavy = busy.heavy(before, busy.processes(root), seconds)
    for process in heavy:
        what = f"process {process.pid} ({process.name}) uses {process.share * 100:.0f} % of a CPU"
        yield Finding("warn", what, "stop it")
    if not heavy:
        yield Finding("ok", "other processes: none uses the CPUs")


def main(_: argparse.Namespace) -> int:
    """The `doctor` verb: print every finding, with what to do."""
    for finding in findings():
        print(f"{finding.level:8}{finding.text}")
        if finding.do:
            print(f"{'':8}-> {finding.do}")
    return 0
