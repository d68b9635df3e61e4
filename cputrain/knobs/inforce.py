"""What really applies in the worker, held against what was asked."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from cputrain.machine import mapped, reading
from cputrain.record.proof import Check as Check


class NotInForce(RuntimeError):
    """A setting that does not apply: the message names it, what was asked and what was found."""


def same(name: str, asked: Any, found: Any) -> Check:
    """Whether what was found is what was asked."""
    return Check(name, asked, found, asked == found)


def require(checks: Iterable[Check]) -> None:
    """Raise NotInForce for the first check that failed."""
    for check in checks:
        if not check.ok:
            raise NotInForce(f"{check.name}: asked for {check.asked}, found {check.found}")


def launch_mask(asked: list[int], found: set[int]) -> Check:
    """The affinity mask that the interpreter started with, read before anything was imported."""
    return same("affinity mask at launch", sorted(asked), sorted(found))


def thread_masks(asked: list[int]) -> Check:
    """Every thread of this process keeps inside the launch mask."""
    outside = {id: mask for id, mask in masks().items() if not set(mask) <= set(asked)}
    return Check("affinity mask of every thread", sorted(asked), outside or "inside", not outside)


def unbound(asked: list[int]) -> Check:
    """No thread of this process is bound to less than the launch mask."""
    fewer = {id: mask for id, mask in masks().items() if set(mask) < set(asked)}
    return Check("threads bound to fewer CPUs", "none", fewer or "none", not fewer)


def masks() -> dict[int, list[int]]:
    """The affinity mask of each thread of this process, by the kernel's id."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            found[int(task.name)] = sorted(os.sched_getaffinity(int(task.name)))
        except ProcessLookupError:
            continue  # it ended while we looked
    return found


def preloads(asked: tuple[str, ...], root: Path = reading.ROOT) -> list[Check]:
    """Each preloaded library is mapped; the loader only warns where it could not load one."""
    there, checks = mapped.files(root) if asked else [], []
    for path in asked:
        found = "mapped" if {str(Path(path).resolve()), path} & {*there} else "not mapped"
        checks.append(same(f"preload of {path}", "mapped", found))
    return checks


def busy_threads(
    asked: int, before: dict[int, int], after: dict[int, int], *, exactly: bool
) -> Check:
    """Threads that used CPU time over a sample, and not one in a hundred of the busiest's only.

    Args:
        asked: compute threads of the worker.
        before, after: nanoseconds of CPU time by thread id.
        exactly: the count is what the experiment sets, so all of them have to have worked;
            otherwise a model too small to share out may leave some idle.
    """
    used = [ns - before.get(thread, 0) for thread, ns in after.items()]
    found = sum(ns > 0.01 * max(used) for ns in used)
    right = found == asked if exactly else found <= asked
    return Check("threads that used CPU time", asked, found, right)


def busy_pool(
    asked: int,
    before: dict[int, int],
    after: dict[int, int],
    pool: Collection[int],
    wall_s: float,
    *,
    exactly: bool,
) -> Check:
    """As `busy_threads`, of an engine whose work a pool does in turns with whoever starts it.

    Threads of the pool count where they used CPU time; all threads together as many as ran at a
    time on average, rounded to the nearest. The larger number is what was found.

    Args:
        pool: ids of the pool's threads.
        wall_s: seconds of the sample.
    """
    used = {id: ns - before.get(id, 0) for id, ns in after.items()}
    of_pool = sum(used.get(id, 0) > 0.01 * max(used.values()) for id in pool)
    found = max(1, of_pool, round(sum(used.values()) / 1e9 / wall_s))
    right = found == asked if exactly else found <= asked
    return Check("threads that computed", asked, found, right)
