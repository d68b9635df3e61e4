"""The clock around optimizer steps, and the rule that says when warm-up is over."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], int]
"""Nanoseconds that only grow, like `time.perf_counter_ns`."""

WINDOW = 3
TOLERANCE = 0.05
FEWEST = 2
"""Steps of a warm-up at least, however long they take."""
LONG_S = 0.1
"""Step time from which two steps will do, the second hardly faster: neighbours come and go within
one."""
HEAVY_S = 1.0
"""Step time from which the first step of a worker counts as the first of the two."""


def is_steady(step_s: list[float]) -> bool:
    """Whether the last `WINDOW` steps are hardly faster than the `WINDOW` before, by their medians.

    Of steps of `LONG_S` or more, whether the last one is hardly faster than the one before it.
    Warming up makes steps faster. Slower ones are others' doing, and who waited for them to pass
    would wait for the machine to be calm.

    Args:
        step_s: seconds of each step so far, oldest first; the first step of a worker, which
            allocates and may compile, does not belong in it.
    """
    if len(step_s) >= FEWEST and min(step_s[-FEWEST:]) >= LONG_S:
        return step_s[-1] >= (1 - TOLERANCE) * step_s[-2]
    if len(step_s) < 2 * WINDOW:
        return False
    before = statistics.median(step_s[-2 * WINDOW : -WINDOW])
    now = statistics.median(step_s[-WINDOW:])
    return now >= (1 - TOLERANCE) * before


@dataclass(frozen=True)
class WarmUp:
    """What warming up took: seconds of each step, and whether the step time became steady."""

    step_s: list[float]
    steady: bool

    @property
    def fastest_s(self) -> float:
        """Seconds of the fastest step: others may have held up most of them."""
        return min(self.step_s)


def timed(
    step: Callable[[], object], steps: int, clock: Clock = time.perf_counter_ns
) -> list[float]:
    """Run `step` exactly `steps` times; the seconds of each."""
    seconds = []
    for _ in range(steps):
        start = clock()
        step()
        seconds.append((clock() - start) / 1e9)
    return seconds


def warm_up(
    step: Callable[[], object],
    most_steps: int,
    most_s: float,
    clock: Clock = time.perf_counter_ns,
    first_s: float | None = None,
) -> WarmUp:
    """Run `step` until steady or `most_steps` or `most_s` are spent; `FEWEST` times at least.

    Args:
        step: an optimizer step.
        most_steps, most_s: when to give up.
        clock: nanoseconds.
        first_s: seconds of the step before. Of `HEAVY_S` or more it is one of those that are
            compared: what it allocates is little of it, and after one that compiles all are faster.
    """
    before = [first_s] if first_s is not None and first_s >= HEAVY_S else []
    seconds: list[float] = []
    while len(seconds) < most_steps:
        seconds += timed(step, 1, clock)
        if is_steady([*before, *seconds]):
            return WarmUp(seconds, steady=True)
        if sum(seconds) >= most_s and len(before) + len(seconds) >= FEWEST:
            break
    return WarmUp(seconds, steady=False)
