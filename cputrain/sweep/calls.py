"""How a pass is cut into asv calls: long enough to pay for a start, short enough to be lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cputrain.experiment import Experiment
from cputrain.run.forking import forkable
from cputrain.run.placement import place
from cputrain.sweep.plan import Planned, in_order

CALL_S = 240.0
"""Seconds of one call, about. Its start, a fresh parent of forked workers and fresh references take
8 s and more; asv writes its results at a call's end, and takes those of a killed one from records,
where they are whole."""


@dataclass(frozen=True)
class Call:
    """Suites that one asv call runs, all in one environment."""

    suites: tuple[Planned, ...]

    @property
    def stack(self) -> str:
        """The environment."""
        return self.suites[0].stack

    @property
    def name(self) -> str:
        """What its log is called: the first suite's key, and how many more there are."""
        first, more = self.suites[0].key, len(self.suites) - 1
        return f"{first} and {more} more" if more else first

    def forked_soon(self) -> Experiment | None:
        """What the first of its workers that a parent forks runs; None where none is forked."""
        suites = sorted(self.suites, key=lambda planned: planned.benchmark)  # as asv does
        possible = (c.experiment for p in suites for c in p.cells if c.why_not is None)
        return next((each for each in possible if forkable(each, place(each))), None)

    def pattern(self) -> str:
        """A regular expression that asv matches with these cells only."""
        names = (re.escape(p.asv_name(cell)) for p in self.suites for cell in p.cells)
        return f"^({'|'.join(names)})$"


def calls(suites: Iterable[Planned], suites_s: Mapping[str, float]) -> Iterator[Call]:
    """The calls of a pass.

    Args:
        suites: that it takes; asv runs those of one call in the order of their names.
        suites_s: seconds that each is expected to take, by key.
    """
    waiting: list[Planned] = []
    total_s = 0.0
    for planned in in_order(suites):
        takes_s = suites_s[planned.key]
        if waiting and (not _go_together(planned, waiting[0]) or total_s + takes_s > CALL_S):
            yield Call(tuple(waiting))
            waiting, total_s = [], 0.0
        waiting.append(planned)
        total_s += takes_s
    if waiting:
        yield Call(tuple(waiting))


def _go_together(planned: Planned, other: Planned) -> bool:
    """Whether one call may run both. A suite is in it once: asv has one name for all its cells."""
    return (planned.stack, planned.is_long) == (other.stack, other.is_long)
