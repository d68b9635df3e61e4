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


def same(name: str, expected: Any, actual: Any) -> Check:
    """Whether what was found is what was asked."""
    return Check(name, expected, actual, expected == actual)


def require(checks: Iterable[Check]) -> None:
    """Raise NotInForce for the first check that failed."""
    for check in checks:
        if not check.ok:
            raise NotInForce(f"{check.name}: asked for {check.expected}, found {check.actual}")


def launch_mask(expected: list[int], actual: set[int]) -> Check:
    """The affinity mask that the interpreter started with, read before anything was imported."""
    return same("affinity mask at launch", sorted(expected), sorted(actual))


def thread_masks(cpus: list[int]) -> Check:
    """Every thread of this process keeps inside the launch mask."""
    outside = {id: mask for id, mask in masks().items() if not set(mask) <= set(cpus)}
    return Check("affinity mask of every thread", sorted(cpus), outside or "inside", not outside)


def unbound(cpus: list[int]) -> Check:
    """No thread of this process is bound to less than the launch mask."""
    fewer = {id: mask for id, mask in masks().items() if set(mask) < set(cpus)}
    return Check("threads bound to fewer CPUs", "none", fewer or "none", not fewer)


def masks() -> dict[int, list[int]]:
    """The affinity mask of each thread of this process, by the kernel's id."""
    by_thread = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            by_thread[int(task.name)] = sorted(os.sched_getaffinity(int(task.name)))
        except ProcessLookupError:
            continue  # it ended while we looked
    return by_thread


def preloads(paths: tuple[str, ...], root: Path = reading.ROOT) -> list[Check]:
    """Each preloaded library is mapped; the loader only warns where it could not load one."""
    there, checks = mapped.files(root) if paths else [], []
    for path in paths:
        state = "mapped" if {str(Path(path).resolve()), path} & {*there} else "not mapped"
        checks.append(same(f"preload of {path}", "mapped", state))
    return checks


def busy_threads(
    expected: int, before: dict[int, int], after: dict[int, int], *, exactly: bool
) -> Check:
    """Threads that used CPU time over a sample, and not one in a hundred of the busiest's only.

    Args:
        expected: compute threads of the worker.
        before, after: nanoseconds of CPU time by thread id.
        exactly: the count is what the experiment sets, so all of them have to have worked;
            otherwise a model too small to share out may leave some idle.
    """
    used = [ns - before.get(thread, 0) for thread, ns in after.items()]
    actual = sum(ns > 0.01 * max(used) for ns in used)
    right = actual == expected if exactly else actual <= expected
    return Check("threads that used CPU time", expected, actual, right)


def busy_pool(
    expected: int,
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
    actual = max(1, of_pool, round(sum(used.values()) / 1e9 / wall_s))
    right = actual == expected if exactly else actual <= expected
    return Check("threads that computed", expected, actual, right)
