"""Whether steps take another time than usual, by medians over windows of blocks of steps.

A block is the steps of one second, or one that takes longer; its step time is their mean, as what
a quota or the scheduler takes away comes in pieces that are longer than a short step: most steps
go free of it. A window is 5 blocks, and its step time their median: single outliers do not move it,
and evaluations and checkpoints lie between steps. The first step of a stretch, which may compile,
is in none. The usual step time is the median of the first 3 windows in a row that agree to 5 %;
where 12 windows have gone by without, it is the median of these, and that is told. A drift has
begun when 3 windows in a row lie 10 % above it, and is over when 3 in a row lie below 5 %. Three in
a row that lie 10 % below it are a new usual time: something had been in the way before.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from msgspec import structs

from cputrain.record.notices import Drift, Notice, Usual
from cputrain.worker.training.causes import Counters, cause, pooled

BLOCK_S = 1.0
"""Seconds in steps of a block."""
BLOCKS = 5
"""Blocks of a window."""
IN_A_ROW = 3
"""Windows that have to say the same."""
AGREEMENT = 1.05
"""Slowest over fastest of the windows that the usual step time is of."""
MOST = 12
"""Windows after which it is taken of those that do not agree."""
OFF, BACK = 1.10, 1.05
"""Ratios to the usual step time at which a drift begins, and is over."""


@dataclass(frozen=True)
class Window:
    """Steps in a row: the first and the last one, their step time, what was counted."""

    first: int
    last: int
    step_s: float
    counters: Counters


class StepTime:
    """Follows the step times of one stretch.

    Args:
        say: answers.
        counters: what was counted since it was asked last.
        block_s: seconds in steps of a block.
    """

    def __init__(
        self,
        say: Callable[[Notice], None],
        counters: Callable[[], Counters],
        block_s: float = BLOCK_S,
    ) -> None:
        self._say, self._counters, self._block_s = say, counters, block_s
        self._first: int | None = None
        self._steps, self._seconds = 0, 0.0
        self._blocks: list[float] = []
        self._recent: list[Window] = []
        self._usual: Window | None = None
        self._drift: Drift | None = None
        self._drifting: list[float] = []

    def stepped(self, step: int, seconds: float) -> Counters | None:
        """A step was trained, and took so long; what was counted where a window ended with it."""
        if self._first is None:
            self._first = step + 1
            self._counters()
            return None
        self._steps, self._seconds = self._steps + 1, self._seconds + seconds
        if self._seconds < self._block_s:
            return None
        self._blocks.append(self._seconds / self._steps)
        self._steps, self._seconds = 0, 0.0
        if len(self._blocks) < BLOCKS:
            return None
        step_s, counted = statistics.median(self._blocks), self._counters()
        self._recent.append(Window(self._first, step, step_s, counted))
        self._blocks.clear()
        self._first = step + 1
        if self._usual is None:
            self._settle()
        else:
            self._recent = self._recent[-IN_A_ROW:]
            self._judge(self._usual)
        return counted

    def _settle(self) -> None:
        """Find the usual step time, if the windows so far tell it."""
        last = self._recent[-IN_A_ROW:]
        medians = [window.step_s for window in last]
        is_steady = len(last) == IN_A_ROW and max(medians) <= AGREEMENT * min(medians)
        if not is_steady and len(self._recent) < MOST:
            return
        self._usual = _joined(last if is_steady else self._recent)
        self._recent.clear()
        self._say(Usual(step=self._usual.last, step_s=self._usual.step_s, is_steady=is_steady))

    def _judge(self, usual: Window) -> None:
        """See whether a drift begins or is over with the last windows."""
        ratios = [window.step_s / usual.step_s for window in self._recent]
        if self._drift is not None:
            self._drifting.append(self._recent[-1].step_s)
        if len(ratios) < IN_A_ROW:
            return
        last = _joined(self._recent)
        if self._drift is None and min(ratios) >= OFF:
            self._drifting = [window.step_s for window in self._recent]
            self._begin(_drift_of(last, usual, slow=last, fast=usual))
        elif self._drift is not None and max(ratios) <= BACK:
            self._end(last.first - 1, usual)
        elif max(ratios) <= 1 / OFF:
            self._begin(_drift_of(last, usual, slow=usual, fast=last))
            self._drift, self._usual = None, last

    def _begin(self, drift: Drift) -> None:
        self._drift = drift
        self._recent.clear()
        self._say(drift)

    def _end(self, step: int, usual: Window) -> None:
        """The drift was over after that step."""
        assert self._drift is not None
        step_s = statistics.median(self._drifting[:-IN_A_ROW])
        self._say(
            structs.replace(self._drift, last=step, step_s=step_s, ratio=step_s / usual.step_s)
        )
        self._drift = None
        self._recent.clear()


def _joined(windows: list[Window]) -> Window:
    """Several as one."""
    return Window(
        windows[0].first,
        windows[-1].last,
        statistics.median(window.step_s for window in windows),
        pooled(window.counters for window in windows),
    )


def _drift_of(now: Window, usual: Window, *, slow: Window, fast: Window) -> Drift:
    """What is told of steps that take another time: why the slow ones do."""
    why = cause(slow.counters, fast.counters, slow.step_s / fast.step_s)
    return Drift(
        first=now.first,
        ratio=now.step_s / usual.step_s,
        step_s=now.step_s,
        usual_s=usual.step_s,
        cause=why.name,
        shares=why.shares,
        clock_ghz=now.counters.clock_ghz,
        usual_clock_ghz=usual.counters.clock_ghz,
        round_trip_ns=now.counters.round_trip_ns,
        usual_round_trip_ns=usual.counters.round_trip_ns,
        is_one_core=why.is_one_core,
        unread=why.unread,
    )
