"""What a sweep prints: its plan, a line for each cell, a bar with the time left, a summary."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from rich import progress as rich_progress
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cputrain.sweep import plan
from cputrain.wording import counted, one_line

if TYPE_CHECKING:
    from cputrain.report.export import Summary
    from cputrain.sweep.durations import Durations

NARROWEST = 10
"""Width of a cell's name at least."""
NUMBERS = {"ratio": 6, "ok": 3, "failed": 6, "skipped": 7}
"""Columns of numbers in the closing table and their width at least: a terminal cuts off names."""


def shown(text: object) -> str:
    """Text for the console: neither its own markup nor the terminal's is obeyed."""
    return escape(one_line(text))


def seconds(value: float) -> str:
    """A step time for people: 42.1 ms, 1.53 s."""
    if not math.isfinite(value):
        return "unknown"
    if value < 1:
        return f"{value * 1e3:.3g} ms" if value < 0.9995 else "1.00 s"
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"


def minutes(value: float) -> str:
    """A duration for people: 40 s, 12 min, 2.5 h."""
    if value < 90:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 90 * 60 else f"{value / 3600:.1f} h"


class Progress:
    """Prints a sweep. Nothing is drawn between events: a moving bar would be measured too.

    Args:
        rounds: fresh workers that each cell takes; None is what each suite says.
        console: where to; standard output where left out.
    """

    def __init__(self, rounds: int | None, console: Console | None = None) -> None:
        self.rounds = rounds
        wide = Console(highlight=False, soft_wrap=True)
        if not wide.is_terminal:
            wide.width = 120  # a log has no width of its own
        self.console = console or wide
        self.failed = 0
        self._bar: rich_progress.Progress | None = None
        self._suite: plan.Planned | None = None
        self._wide = NARROWEST
        self._steps: dict[str, list[float]] = {}
        self._waiting: list[dict[str, Any]] = []
        self._left_s: dict[str, float] = {}
        self._total_s = 1.0

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
        workers = sum(p.rounds(self.rounds) for p in suites for c in p.cells if c.why_not is None)
        self._left_s = {p.key: estimate.suite_s(p, p.rounds(self.rounds)) for p in todo}
        self._total_s = sum(self._left_s.values())
        takes = self._total_s + building_s
        how = "a guess, nothing has run here yet" if estimate.is_guess else "by earlier runs here"
        self.say(
            f"{machine}: {counted(len({p.name for p in suites}), 'suite')}, "
            f"{counted(len(here), 'cell')}, {counted(workers, 'fresh worker')}, "
            f"about {minutes(takes)} ({how})"
        )
        reasons: dict[str, list[str]] = {}
        for planned in suites:
            for cell in planned.cells:
                if cell.why_not is not None:
                    reasons.setdefault(cell.why_not, []).append(f"{planned.name} {cell.name}")
        if reasons:
            skipped = sum(map(len, reasons.values()))
            cells_skipped = f"{counted(skipped, 'cell')} {'is' if skipped == 1 else 'are'} skipped"
            self.say(f"{cells_skipped} here; `bench.py list` says which and why")
        if self.console.is_terminal:
            self._bar = rich_progress.Progress(
                rich_progress.BarColumn(),
                rich_progress.TextColumn("{task.percentage:.0f} %, {task.description}"),
                console=self.console,
                auto_refresh=False,
                transient=True,
            )
            self._task = self._bar.add_task("", total=self._total_s)
            self._bar.start()

    def suite(self, planned: plan.Planned) -> None:
        """A suite starts."""
        self._suite, self._steps, self._waiting = planned, {}, []
        self._started = time.monotonic()
        self._budget_s = self._left_s.get(planned.key, 0.0)
        here = (len(cell.name) for cell in planned.cells if cell.why_not is None)
        self._wide = max((NARROWEST, *here))
        names = ", ".join(planned.suite.param_names)
        self.console.print(f"[bold]{shown(planned.key)}[/bold] ({shown(names)})")
        self._advance(0.0)

    def event(self, event: dict[str, Any]) -> None:
        """A worker ended: print its cell once all its rounds are in, or it failed."""
        assert self._suite is not None
        cell = event["cell"]
        if event.get("note") and cell not in self._steps:
            self.say(f"  {cell:>{self._wide}}  {event['note']}")
        if event["status"] == "skipped":
            if cell not in self._steps:
                self._steps[cell] = []
            return
        if event["status"] != "ok":
            self.failed += 1
            self.say(f"  {cell:>{self._wide}}  {event['status']}: {event['reason']}")
        else:
            self._steps.setdefault(cell, []).append(event["step_s"])
            if len(self._steps[cell]) == self._suite.rounds(self.rounds):
                self._waiting.append(event)
            self._flush()
        self._advance(time.monotonic() - self._started)

    def _flush(self, last: bool = False) -> None:
        assert self._suite is not None
        base = self._suite.baseline
        base_s = self._steps.get(base.name, []) if base else []
        if base and len(base_s) < self._suite.rounds(self.rounds) and not last:
            return
        for event in self._waiting:
            step_s = statistics.median(self._steps[event["cell"]])
            rate = event["tokens_per_step"] / step_s
            ratio = f"{step_s / statistics.median(base_s):6.2f}x" if base_s else "      -"
            flag = "  disturbed" if event["disturbed"] else ""
            self.say(
                f"  {event['cell']:>{self._wide}}  {seconds(step_s):>8} a step  "
                f"{rate:>9,.0f} tokens/s  {ratio}{flag}"
            )
        self._waiting = []

    def suite_done(self) -> None:
        """A suite ended."""
        assert self._suite is not None
        self._flush(last=True)
        skipped = [name for name, steps in self._steps.items() if not steps]
        if skipped:
            self.say(f"  skipped here: {', '.join(dict.fromkeys(skipped))}")
        self._left_s.pop(self._suite.key, None)
        self._advance(0.0, within=False)

    def _advance(self, in_suite_s: float, within: bool = True) -> None:
        if self._bar is None:
            return
        left = sum(self._left_s.values())
        if within:
            left -= min(in_suite_s, 0.95 * self._budget_s)
        text = f"about {minutes(max(left, 1))} left"
        self._bar.update(self._task, completed=self._total_s - left, description=text, refresh=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def end(
        self,
        summary: Summary,
        machine: str,
        suites: Iterable[plan.Planned],
        left_out: list[str],
        quick: bool,
    ) -> None:
        """The summary table, what went wrong, and where everything lies."""
        table = Table(title=f"How much each variable changes the step time on {shown(machine)}")
        for column in ("suite", "fastest", "slowest", *NUMBERS):
            justify: Literal["left", "right"] = "left" if column == "suite" else "right"
            least = NUMBERS.get(column)
            table.add_column(column, justify=justify, no_wrap=True, min_width=least)
        rows = [row for row in summary.rows if row["machine"] == machine]
        compared: dict[str, bool] = {}
        for planned in suites:  # one of them may be there for each environment
            with_baseline = planned.baseline is not None
            compared[planned.name] = compared.get(planned.name, False) or with_baseline
        for ranked in _ranked(rows, compared):
            table.add_row(*map(shown, ranked))
        self.console.print(table)
        for problem in summary.problems:
            self.say(f"problem: {problem}")
        if any(row["mode"] == "full" for row in rows) and quick:
            self.say("quick results stand in the tables only where there are no full ones")
        if left_out:
            self.say(
                f"left out for lack of time: {', '.join(left_out)}; the next run takes them up"
            )
        self.say("tables: result/README.md, result/results.csv, and one CSV for each suite")


NOT_RUN = "not run"


def _ranked(rows: list[dict[str, Any]], suites: dict[str, bool]) -> list[list[str]]:
    """A line for each suite; those whose values are no variations of one baseline come last."""
    ranked = []
    for suite, compared in suites.items():
        mine = [row for row in rows if row["suite"] == suite]
        ok = sorted((r for r in mine if r["status"] == "ok"), key=lambda r: float(r["step_s"]))
        skipped = sum(row["status"] == "skipped" and row["reason"] != NOT_RUN for row in mine)
        failed = sum(row["status"] not in ("ok", "skipped") for row in mine)
        numbers = [str(len(ok)), str(failed), str(skipped)]
        if not ok:
            ranked.append((0.0, [suite, "-", "-", "-", *numbers]))
            continue
        ends = [f"{row['value']}: {seconds(row['step_s'])}" for row in (ok[0], ok[-1])]
        ratio = ok[-1]["step_s"] / ok[0]["step_s"]
        decimals = 2 if ratio < 10 else 1 if ratio < 100 else 0
        line = [suite, *ends, f"{ratio:.{decimals}f}x" if compared else "-", *numbers]
        ranked.append((ratio if compared else 0.0, line))
    return [cells for _, cells in sorted(ranked, key=lambda pair: -pair[0])]
