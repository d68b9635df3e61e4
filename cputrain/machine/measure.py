"""Measure matrix products and memory bandwidth by number of threads, within a given time.

As a program, in the measured stack: `python -m cputrain.machine.measure --seconds 10 fp32:1
fp32:2 bandwidth:2` prints what it found as JSON; `measurements.merge` keeps it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cputrain.machine import bandwidth, clock, cpu, measurements, peak, reading, topology

SECONDS = {"fp32": 3.0, "bf16": 1.2, "int8": 1.2, "bandwidth": 0.8}
"""Most time for one number of threads, and the shares where not all have so much."""

LEAST = 0.04
"""Seconds below which nothing is worth measuring."""

STACK = ("torch", "numpy", "jax", "jaxlib", "optax", "threadpoolctl", "torchao")
"""Packages of the measured stack whose versions are recorded."""


@dataclass(frozen=True)
class Task:
    """One thing to measure: a key of `measurements.FIELDS`, and a number of threads."""

    kind: str
    threads: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.threads}"


def task(text: str) -> Task:
    """The task of a text such as "fp32:2". Raises ValueError."""
    kind, _, threads = text.partition(":")
    if kind not in measurements.FIELDS or not re.fullmatch("[1-9][0-9]{0,4}", threads):
        raise ValueError(text)
    return Task(kind, int(threads))


def within(
    tasks: Sequence[Task],
    seconds: float,
    do: Callable[[Task, float], float],
    now: Callable[[], float] = time.perf_counter,
) -> Iterator[tuple[Task, float | str]]:
    """Do one task after the other; its rate, or the reason why there is none.

    Args:
        tasks: the most important first: where time runs out, the last ones go without.
        seconds: for all, shared out by `SECONDS`.
        do: measures a task in about so many seconds; may raise reading.Unknown.
        now: the clock.
    """
    end = now() + seconds
    for i, task in enumerate(tasks):
        to_come = sum(SECONDS[other.kind] for other in tasks[i:])
        share = SECONDS[task.kind] * min(1.0, (end - now()) / to_come)
        if share < LEAST:
            yield task, "no time was left; a later run measures it"
            continue
        try:
            yield task, do(task, share)
        except reading.Unknown as unknown:
            yield task, str(unknown)


def cores_in_order(whole: topology.Topology) -> tuple[int, ...]:
    """One CPU of each core, as `Topology.choose` takes them: package by package."""
    order: list[int] = []
    for n in range(1, whole.physical_cores + 1):
        order += set(whole.choose(n)) - set(order)
    return tuple(order)


def _do(order: tuple[int, ...], sizes: dict[str, int]) -> Callable[[Task, float], float]:
    import torch

    def do(task: Task, seconds: float) -> float:
        torch.set_num_threads(task.threads)
        if task.kind != "bandwidth":
            return peak.best_rate(peak.products(task.kind), seconds)
        size = bandwidth.array_bytes(order[: task.threads])
        rate = bandwidth.best_bandwidth(bandwidth.torch_triad, size, seconds)
        sizes[str(task.threads)] = size
        return rate

    return do


def pinned(order: Sequence[int]) -> bool:
    """Whether threads of this process are bound, one or more to each of these CPUs alone.

    A thread that a bound one starts has its mask: two of three may be on one CPU.
    """
    masks = []
    for thread in os.listdir("/proc/self/task"):  # noqa: PTH208 - names, not paths
        with suppress(ProcessLookupError):  # it ended meanwhile
            masks.append(os.sched_getaffinity(int(thread)))
    return {cpu for mask in masks if len(mask) == 1 for cpu in mask} == set(order)


def stack() -> dict[str, Any]:
    """Version and, where the library tells, build settings of the measured stack."""
    import numpy
    import torch

    libraries: dict[str, Any] = {"python": {"version": sys.version.split()[0]}}
    for name in STACK:
        try:
            libraries[name] = {"version": importlib.metadata.version(name)}
        except importlib.metadata.PackageNotFoundError:
            libraries[name] = {"version": None, "version_reason": "not installed"}
    libraries["torch"]["build"] = torch.__config__.show()
    libraries["torch"]["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
    build: Any = numpy.show_config(mode="dicts")
    # Where NumPy was built says nothing of what it is.
    libraries["numpy"]["build"] = {k: v for k, v in build.items() if k != "Python Information"}
    return libraries


def measure(tasks: Sequence[Task], seconds: float, order: tuple[int, ...]) -> dict[str, Any]:
    """What machine.json gets of these tasks. The threads are bound to `order` before."""
    import torch

    content: dict[str, Any] = {"date": datetime.now(UTC).isoformat(timespec="seconds")}
    content["torch"] = str(torch.__version__)
    sizes: dict[str, int] = {}
    reasons, most = {}, 0
    for task, rate in within(tasks, seconds, _do(order, sizes)):
        if isinstance(rate, str):
            reasons[str(task)] = rate
        else:
            field = content.setdefault(measurements.FIELDS[task.kind], {})
            field[str(task.threads)] = float(f"{rate:.4g}")
            most = max(most, task.threads)
    content |= {"bandwidth_array_bytes": sizes, "reasons": reasons}
    content["pinned"] = pinned(order[:most])
    content |= clock.reading()
    content["libraries"] = stack()
    with suppress(reading.Unknown):
        content["flags"] = cpu.info(reading.ROOT, "flags", "Features")
    return content


def main(arguments: list[str] | None = None) -> int:
    """Bind the threads, measure, print JSON."""
    started = time.perf_counter()
    parser = argparse.ArgumentParser(
        prog="python -m cputrain.machine.measure",
        description="Measure matrix products and memory bandwidth, and print JSON.",
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="in all, imports included")
    help_text = f"such as fp32:2; one of {', '.join(measurements.FIELDS)}, and threads"
    parser.add_argument("tasks", type=task, nargs="+", metavar="TASK", help=help_text)
    options = parser.parse_args(arguments)
    order = cores_in_order(topology.read_topology())
    if any(task.threads > len(order) for task in options.tasks):
        parser.error(f"tasks: at most {len(order)} threads, one for each core allowed")
    # Read by the OpenMP runtime when torch loads it.
    os.environ["OMP_PROC_BIND"] = "close"
    os.environ["OMP_PLACES"] = ",".join(f"{{{cpu}}}" for cpu in order)
    import torch  # noqa: F401

    left = options.seconds - (time.perf_counter() - started)
    # A slow disk may take all the time for the import: something is measured all the same.
    print(json.dumps(measure(options.tasks, max(left, options.seconds / 3), order)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
