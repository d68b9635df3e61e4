"""The bar of a sweep: how much of it is done, and about how long the rest takes.

What is expected of the rest is corrected by what the suites that are done took of what was
expected of them. Where a sweep stops before it has come round, it is the time until then.
"""

from __future__ import annotations

import math
import time

from rich import progress as rich_progress
from rich.console import Console

from cputrain.sweep.console import minutes

FEWEST_S = 60.0
"""Seconds expected of suites that are done, from which the rest is corrected by them."""
MOST_OF_A_SUITE = 0.95
"""A suite that takes longer than expected stays at this share of what was expected."""


class TimeLeft:
    """The bar, on a terminal alone. It is drawn at events: a moving bar would be measured too."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: rich_progress.Progress | None = None
        self._suites_s: dict[str, float] = {}
        self._started = self._since = time.monotonic()
        self._expected_s = 0.0
        self._done_s = self._took_s = 0.0
        self._until = math.inf

    def stop_at(self, until: float) -> None:
        """The sweep measures no longer than until then, by `time.monotonic`."""
        self._until = until

    def begin(self, suites_s: dict[str, float]) -> None:
        """Draw it for suites that are to run, by key, with the seconds that each may take.

        That of the pass before is taken away: a terminal would keep drawing both.
        """
        self.close()
        self._suites_s = dict(suites_s)
        self._done_s = self._took_s = 0.0
        if not self._console.is_terminal:
            return
        self._total_s = sum(suites_s.values())
        self._bar = rich_progress.Progress(
            rich_progress.BarColumn(),
            rich_progress.TextColumn("{task.percentage:.0f} %, {task.description}"),
            console=self._console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("", total=self._total_s)
        self._bar.start()

    def call(self) -> None:
        """An asv call starts: the set-up before the first one is no suite's time."""
        self._since = time.monotonic()

    def suite(self, key: str) -> float:
        """A suite's first worker ended; about how many seconds are left."""
        self._started = time.monotonic()
        self._expected_s = self._suites_s.get(key, 0.0)
        self._draw(0.0)
        return self._left_s(0.0)

    def _left_s(self, done_s: float) -> float:
        """Seconds that are left, one at least, with `done_s` of the suite in progress done."""
        rest_s = (sum(self._suites_s.values()) - done_s) * self._pace
        return max(1.0, min(rest_s, self._until - time.monotonic()))

    @property
    def _pace(self) -> float:
        """What suites take over what is expected of them; of few nothing is concluded."""
        if self._done_s < FEWEST_S:
            return 1.0
        return self._took_s / self._done_s

    def worker(self) -> None:
        """A worker of the suite ended."""
        in_suite_s = time.monotonic() - self._started
        self._draw(min(in_suite_s, MOST_OF_A_SUITE * self._expected_s))

    def suite_done(self, key: str) -> None:
        """The suite ended."""
        if (expected_s := self._suites_s.pop(key, None)) is not None and expected_s:
            self._done_s += expected_s
            now = time.monotonic()
            self._took_s += now - self._since
            self._since = now
        self._draw(0.0)

    def _draw(self, done_s: float) -> None:
        """Draw it with `done_s` of the suite in progress done."""
        if self._bar is None:
            return
        text = f"about {minutes(self._left_s(done_s))} left"
        done_s += self._total_s - sum(self._suites_s.values())
        self._bar.update(self._task, completed=done_s, description=text, refresh=True)

    def close(self) -> None:
        """Take it away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
