"""Seconds of the parts of a step, as an engine's own counters or its profiler tell them.

An engine that can tell has a module `parts` in its folder with a `watcher(engine)`.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cputrain.engines import EngineError

if TYPE_CHECKING:
    from cputrain.engines import Engine


@dataclass
class Times:
    """One step.

    Attributes:
        wall_s: of the whole step, by the clock around it.
        watcher_s: of it, what the watcher knows to have spent itself: in no part.
        seconds, calls: by part; framework is what of the step is in no other one.
    """

    wall_s: float = 0.0
    watcher_s: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)

    def add(self, part: str, seconds: float, calls: int = 1) -> None:
        """Count it for a part."""
        self.seconds[part] = self.seconds.get(part, 0.0) + seconds
        self.calls[part] = self.calls.get(part, 0) + calls


@contextmanager
def timed_as_data(engine: Any, method: str, times: Times) -> Iterator[None]:
    """Counts what one of an engine's methods takes as "data" meanwhile."""
    honest = getattr(engine, method)

    def timed(*given: Any) -> Any:
        start = time.perf_counter()
        try:
            return honest(*given)
        finally:
            times.add("data", time.perf_counter() - start)

    setattr(engine, method, timed)
    try:
        yield
    finally:
        delattr(engine, method)


class Watcher(Protocol):
    """What watches an engine's steps.

    Attributes:
        how: where the seconds come from.
        unseen: what it cannot tell.
        tolerance: share by which the sum of the parts may miss the time of a step.
    """

    how: str
    unseen: str
    tolerance: float

    def step(self, train: Callable[[], object]) -> Times:
        """Run `train`, which takes one step, and tell what its parts took."""

    def dispatch_s(self) -> float | str:
        """Seconds of the smallest call that `Times.calls` counts, or why that is not known."""


def can_watch(name: str) -> bool:
    """Whether the engine of that name has counters of its parts; imports no framework."""
    return importlib.util.find_spec(_module(name)) is not None


def _module(name: str) -> str:
    return f"cputrain.engines.{name}_.parts"


def watcher(engine: Engine) -> Watcher:
    """What watches this engine's steps.

    Raises:
        EngineError: the engine cannot tell, or not for what it runs.
    """
    if not can_watch(engine.name):
        raise EngineError(f"the {engine.name} engine has no counters of the parts of its step")
    made: Watcher = importlib.import_module(_module(engine.name)).watcher(engine)
    return made
