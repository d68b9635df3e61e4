"""The parts of the native engine's step, by the clock in its C code (`src/phases.h`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cputrain.engines.native_.binding import DOUBLE, LONG, Factor
from cputrain.engines.parts import Times, timed_as_data

if TYPE_CHECKING:
    from cputrain.engines.native_.engine import NativeEngine

PHASE = "phase."
TRIES = 200
"""Of the smallest product."""


class NativeWatcher:
    """See `cputrain.engines.parts.Watcher`. The library's clock is on only while it watches."""

    how = "the engine's own clock, read by the thread that calls where a phase ends"
    unseen = (
        "additions to the residual stream, and biases, are in the products that they are done by; "
        "so is what threads wait for each other at a phase's end"
    )
    tolerance = 0.05

    def __init__(self, engine: NativeEngine) -> None:
        self._engine = engine
        names = engine.library.constants
        self._phases = {n.removeprefix(PHASE): i for n, i in names.items() if n.startswith(PHASE)}

    def step(self, train: Callable[[], object]) -> Times:
        """One step."""
        engine, times = self._engine, Times()
        engine.library.watch(engine.model, 1)
        try:
            with timed_as_data(engine, "checked", times):
                start = time.perf_counter()
                train()
                times.wall_s = time.perf_counter() - start
            seconds, ends = (DOUBLE * len(self._phases))(), (LONG * len(self._phases))()
            engine.library.phases(engine.model, seconds, ends)
        finally:
            engine.library.watch(engine.model, 0)
        for name, place in self._phases.items():
            times.add(name, seconds[place], ends[place])
        times.add("framework", times.wall_s - sum(times.seconds.values()))
        return times

    def dispatch_s(self) -> float:
        """Of a product of single numbers: a call that starts and ends one parallel region."""
        return smallest(self._engine.library)


def smallest(library: Any) -> float:
    """Seconds of the library's product of two numbers, Python's call of it included; median."""
    a, b, c = (np.ones(1, np.float32) for _ in range(3))
    left, right = (Factor(x.ctypes.data, 1, 1) for x in (a, b))
    seconds = []
    for _ in range(TRIES):
        start = time.perf_counter()
        library.multiply(1, 1, 1, left, right, c.ctypes.data, 1, 0, None, None)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def watcher(engine: NativeEngine) -> NativeWatcher:
    """See `cputrain.engines.parts.watcher`."""
    return NativeWatcher(engine)
