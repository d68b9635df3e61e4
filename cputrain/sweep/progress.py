"""What a sweep prints: its plan, a line for each cell, the time left, a summary."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console

from cputrain.record.events import WorkerEnded
from cputrain.sweep import closing, plan
from cputrain.sweep.console import minutes, seconds, shown, standard_output
from cputrain.sweep.time_left import TimeLeft
from cputrain.wording import counted

if TYPE_CHECKING:
    from cputrain.report.export import Summary
    from cputrain.sweep.durations import Durations

NARROWEST = 10
"""Width of a cell's name at least."""
FEW_SUITES = 8
"""So many have a table of their own at the end; of more it is in result/README.md."""


class Progress:
    """Prints a sweep. Nothing is drawn between events: a moving bar would be measured too.

    Args:
        console: where to; standard output where left out.

    Attributes:
        failed: how many cells have no number, as far as they were told, and what else went wrong.
        started: when it was made, by `time.monotonic`.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or standard_output()
        self.failed = 0
        self.started = time.monotonic()
        self._training_s = 0.0
        self._time_left = TimeLeft(self.console)
        self._suites: dict[str, plan.Planned] = {}
        self._begun: dict[str, None] = {}
        self._total = 0
        self._suite: plan.Planned | None = None
        self._wide = NARROWEST
        self._skipped: dict[str, None] = {}
        self._reported: set[tuple[str, str]] = set()
        self._noted: set[str] = set()

    def say(self, line: str) -> None:
        """Print one line."""
        if line:
            self.console.print(shown(line))

    def begin(
        self,
        machine: str,
        suites: list[plan.Planned],
        todo: list[plan.Planned],
        estimate: Durations,
        building_s: float,
    ) -> None:
        """Say what will be done and how long it takes."""
        cells = [cell for planned in suites for cell in planned.cells]
        here = [cell for cell in cells if cell.why_not is None]
        suites_s = estimate.suites_s(todo)
        takes = sum(suites_s.values()) + building_s
        how = "a guess, nothing has run here yet" if estimate.is_guess else "by earlier runs here"
        once = (
            f"about {minutes(takes)} for each of them once ({how})"
            if todo
            else "each measured once"
        )
        self.say(
            f"{machine}: {counted(len({p.name for p in suites}), 'suite')}, "
            f"{counted(len(here), 'cell')}, {once}"
        )
        if skipped := len(cells) - len(here):
            cells_skipped = f"{counted(skipped, 'cell')} {'is' if skipped == 1 else 'are'} skipped"
            self.say(f"{cells_skipped} here; python3 bench.py list says which and why")
        self._begin(todo, suites_s)

    def stop_at(self, until: float) -> None:
        """The sweep measures no longer than until then, by `time.monotonic`."""
        self._time_left.stop_at(until)

    def again(self, number: int, suites: list[plan.Planned], suites_s: dict[str, float]) -> None:
        """A further pass begins, over the cells that are open."""
        cells = sum(len(planned.cells) for planned in suites)
        takes = minutes(sum(suites_s.values()))
        self.say(f"pass {number}: {counted(cells, 'cell')} once more, about {takes}")
        self._begin(suites, suites_s)

    def _begin(self, suites: list[plan.Planned], suites_s: dict[str, float]) -> None:
        self._time_left.begin(suites_s)
        self._begun, self._total = {}, len(suites)

    def call(self, suites: Iterable[plan.Planned]) -> None:
        """An asv call with these suites starts."""
        self._suites = {planned.name: planned for planned in suites}
        self._time_left.call()

    def _suite_of(self, name: str) -> plan.Planned:
        """The suite of an event, with its heading where it is not that of the one before."""
        planned = self._suites[name]
        if planned is not self._suite:
            self._end_suite()
            self._suite, self._skipped = planned, {}
            here = (len(cell.name) for cell in planned.cells if cell.why_not is None)
            self._wide = max((NARROWEST, *here))
            names = ", ".join(planned.suite.param_names)
            self._begun[planned.key] = None
            place = f"[{list(self._begun).index(planned.key) + 1}/{self._total}]"
            left = minutes(self._time_left.suite(planned.key))
            heading = f"[bold]{shown(planned.key)}[/bold] ({shown(names)})"
            self.console.print(f"{shown(place)} {heading}, about {left} left")
        return planned

    def event(self, event: WorkerEnded) -> None:
        """A worker ended: its cell's line."""
        self._suite_of(event.suite)
        cell = event.cell
        self._training_s += event.training_s
        if event.note and event.note not in self._noted:
            self._noted.add(event.note)
            self.say(f"  {cell:>{self._wide}}  {event.note}")
        if event.status == "skipped":
            self._skipped[cell] = None
        elif event.status != "ok":
            self._fail(cell, event.status, event.reason or "the record gives no reason")
        elif event.repeats is not None:
            self._has_number(cell)
            self.say(f"  {cell:>{self._wide}}  same as {event.repeats}")
        else:
            self._has_number(cell)
            assert event.step_s is not None  # as a worker that is ok has samples
            rate = event.tokens_per_step / event.step_s
            self.say(
                f"  {cell:>{self._wide}}  {seconds(event.step_s):>8} a step  "
                f"{rate:>9,.0f} tokens/s  {_beside(event)}"
            )
        self._time_left.worker()

    def call_done(self) -> None:
        """The asv call ended."""
        self._end_suite()
        for planned in self._suites.values():
            self._time_left.suite_done(planned.key)
        self._suite, self._suites = None, {}

    def _end_suite(self) -> None:
        if self._suite is not None:
            if self._skipped:
                self.say(f"  skipped here: {', '.join(self._skipped)}")
            self._time_left.suite_done(self._suite.key)

    def died(self, suite: str, cell: str, reason: str) -> None:
        """A cell's process died, and could not say so itself."""
        self._suite_of(suite)
        self._fail(cell, "failed", reason)

    def _fail(self, cell: str, status: str, reason: str) -> None:
        assert self._suite is not None
        key = (self._suite.name, cell)
        self.failed += key not in self._reported
        self._reported.add(key)
        self.say(f"  {cell:>{self._wide}}  {status}: {reason}")

    def _has_number(self, cell: str) -> None:
        """A cell that had failed before does not count as failed any more."""
        assert self._suite is not None
        key = (self._suite.name, cell)
        self.failed -= key in self._reported
        self._reported.discard(key)

    def close(self) -> None:
        """Take the bar away."""
        self._time_left.close()

    def end(
        self,
        summary: Summary,
        machine: str,
        suites: Iterable[plan.Planned],
        left_out: list[str],
        quick: bool,
    ) -> None:
        """The first screen, of a few suites their table, what went wrong, where everything lies."""
        chosen = list(suites)
        if len(chosen) <= FEW_SUITES:
            self.console.print(closing.table(summary.rows_of(machine), machine, chosen))
        for line in closing.lines(summary, machine, left_out, quick):
            self.console.print(shown(line))
        took_s = time.monotonic() - self.started
        share = 100 * self._training_s / took_s
        self.say(f"{minutes(took_s)} in all, {share:.0f} % of it in training steps")
        for line in closing.places(summary, machine):
            self.say(line)

    def without_number(
        self, summary: Summary, machine: str, suites: Iterable[plan.Planned]
    ) -> None:
        """Count cells that have run and stand in the tables without a number.

        Those that were reported as they failed are counted already.

        Args:
            summary: the tables.
            machine: whose rows.
            suites: that have run, in this call or before it was stopped.
        """
        rows = summary.rows_of(machine)
        for suite, cell, row in closing.without_number(rows, suites):
            if (suite, cell) not in self._reported:
                self.failed += 1
                self.say(f"no number: {suite} {cell}: {row['status']}: {row['reason']}")


def _beside(event: WorkerEnded) -> str:
    """What a cell's time is over that of its reference; a baseline's says nothing but noise."""
    if event.is_baseline:
        ratio = "baseline"
    else:
        ratio = f"{'-':>7}" if event.effect is None else f"{event.effect:6.2f}x"
    return f"{ratio}  disturbed" if event.disturbed else ratio
