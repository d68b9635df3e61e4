"""The watch of a run: its memory, and its step time. It looks, and changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cputrain.experiment import Experiment
from cputrain.machine import memory, reading
from cputrain.record.answers import Phase
from cputrain.record.notices import Memory
from cputrain.record.part import Part
from cputrain.record.process import Placement
from cputrain.worker.training.causes import Counters
from cputrain.worker.training.counters import CounterReader
from cputrain.worker.training.drift import StepTime

if TYPE_CHECKING:
    from cputrain.data.feed import Feed

Say = Callable[[Part], None]

EVERY_S = 1.0
"""Seconds between two looks at the memory."""
HIGH, LOW = 0.85, 0.75
"""Shares in use: from which it is told, and below which it may be told again."""


class Watching:
    """Watches one stretch; tells of the memory there is when made.

    Args:
        experiment, placement, feed: of the run.
        step: the last one that was done.
        say: answers.
    """

    def __init__(
        self, experiment: Experiment, placement: Placement, feed: Feed, step: int, say: Say
    ) -> None:
        self._memory = MemoryWatch(step, say)
        self._step_time = StepTime(say, CounterReader(experiment, placement, feed))

    def stepped(self, step: int, seconds: float) -> Counters | None:
        """A step was trained, and took so long; what was counted where a window ended with it."""
        self._memory.look(step)
        return self._step_time.stepped(step, seconds)


class MemoryWatch:
    """Tells once that memory fills up, and again only after it was far from full.

    Args:
        step: the last one that was done.
        say: answers; told of what there is at once.
        fullest: the memory that is fullest.
        now: seconds that only grow.
    """

    def __init__(
        self,
        step: int,
        say: Say,
        fullest: Callable[[], memory.Use] = memory.fullest,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._say, self._fullest, self._now = say, fullest, now
        self._is_high, self._is_read = False, True
        self._looked_s = now()
        try:
            say(_memory(step, fullest(), is_high=False))
        except reading.Unknown as unknown:
            self._is_read = False
            say(Phase(what=f"memory cannot be watched: {unknown}"))

    def look(self, step: int) -> None:
        """Look, once a second at most."""
        now = self._now()
        if not self._is_read or now - self._looked_s < EVERY_S:
            return
        self._looked_s = now
        use = self._fullest()
        if not self._is_high and use.share >= HIGH:
            self._is_high = True
            self._say(_memory(step, use, is_high=True))
        elif use.share < LOW:
            self._is_high = False


def _memory(step: int, use: memory.Use, is_high: bool) -> Memory:
    return Memory(
        step=step,
        used_bytes=max(0, use.used),
        limit_bytes=use.limit,
        limited_by=use.of,
        is_high=is_high,
    )
