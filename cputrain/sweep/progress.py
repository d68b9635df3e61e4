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
        self._told: set[tuple[str, str]] = set()
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
            self._fail(cell, event["status"], event["reason"])
        else:
            self._steps.setdefault(cell, []).append(event["step_s"])
            if len(self._steps[cell]) == self._suite.rounds(self.rounds):
                self._waiting.append(event)
            self._flush()
        self._advance(time.monotonic() - self._started)

    def _flush(self, last: bool = False) -> None:
        assert self._suite is not None
        baselines = {cell.name: cell.baseline for cell in self._suite.cells}
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            base = baselines.get(event["cell"])
            base_s = self._steps.get(base, []) if base in baselines else []
            if base in baselines and len(base_s) < self._suite.rounds(self.rounds) and not last:
                self._waiting.append(event)
                continue
            step_s = statistics.median(self._steps[event["cell"]])
            rate = event["tokens_per_step"] / step_s
            ratio = f"{step_s / statistics.median(base_s):6.2f}x" if base_s else "      -"
            flag = "  disturbed" if event["disturbed"] else ""
            self.say(
                f"  {event['cell']:>{self._wide}}  {seconds(step_s):>8} a step  "
                f"{rate:>9,.0f} tokens/s  {ratio}{flag}"
            )

    def suite_done(self) -> None:
        """A suite ended."""
        assert self._suite is not None
        self._flush(last=True)
        skipped = [name for name, steps in self._steps.items() if not steps]
        if skipped:
            self.say(f"  skipped here: {', '.join(dict.fromkeys(skipped))}")
        self._left_s.pop(self._suite.key, None)
        self._advance(0.0, within=False)

    def died(self, cell: str, reason: str) -> None:
        """A cell's process died, and could not say so itself."""
        self._fail(cell, "failed", reason)

    def _fail(self, cell: str, status: str, reason: str) -> None:
        assert self._suite is not None
        self.failed += 1
        self._told.add((self._suite.name, cell))
        self.say(f"  {cell:>{self._wide}}  {status}: {reason}")

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
        lines: dict[tuple[str, str | None], bool] = {}
        for planned in suites:  # one of them may be there for each environment
            for cell in planned.cells:
                key = planned.name, cell.engine if planned.suite.engines else None
                lines[key] = lines.get(key, False) or cell.baseline is not None
        for ranked in _ranked(rows, lines):
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

    def without_number(
        self, summary: Summary, machine: str, suites: Iterable[plan.Planned]
    ) -> None:
        """Count cells that have run and stand in the tables without a number.

        Those that were told of as they failed are counted already.

        Args:
            summary: the tables.
            machine: whose rows.
            suites: that have run, in this call or before it was stopped.
        """
        mine = {(r["suite"], r["value"]): r for r in summary.rows if r["machine"] == machine}
        for planned in suites:
            for cell in planned.cells:
                name = planned.name, cell.name
                row = mine.get(name, {"status": "failed", "reason": "the tables do not have it"})
                if cell.why_not is not None or name in self._told or _is_settled(row):
                    continue
                self.failed += 1
                self.say(f"no number: {' '.join(name)}: {row['status']}: {row['reason']}")


def _is_settled(row: dict[str, Any]) -> bool:
    """Whether a row has its number, or says why this machine cannot run it."""
    return row["status"] in ("ok", "skipped")


def _ranked(
    rows: list[dict[str, Any]], lines: dict[tuple[str, str | None], bool]
) -> list[list[str]]:
    """A line for each suite, and for each engine that it has; those without a baseline come last.

    Args:
        rows: of this machine.
        lines: suite and engine, None where that is no parameter; whether there is a baseline.
    """
    ranked = []
    for (suite, engine), compared in lines.items():
        # By name: a cell whose record cannot be read has a folder, and no engine is known of it.
        end = "" if engine is None else f"-{engine}"
        mine = [r for r in rows if r["suite"] == suite and r["value"].endswith(end)]
        ok = sorted((r for r in mine if r["status"] == "ok"), key=lambda r: float(r["step_s"]))
        skipped = sum(row["status"] == "skipped" for row in mine)
        failed = sum(row["status"] not in ("ok", "skipped") for row in mine)
        numbers = [str(len(ok)), str(failed), str(skipped)]
        name = suite if engine is None else f"{suite}, {engine}"
        if not ok:
            ranked.append((0.0, [name, "-", "-", "-", *numbers]))
            continue
        values = (row["value"].removesuffix(end) for row in (ok[0], ok[-1]))
        ends = [
            f"{v}: {seconds(r['step_s'])}" for v, r in zip(values, (ok[0], ok[-1]), strict=True)
        ]
        ratio = ok[-1]["step_s"] / ok[0]["step_s"]
        decimals = 2 if ratio < 10 else 1 if ratio < 100 else 0
        line = [name, *ends, f"{ratio:.{decimals}f}x" if compared else "-", *numbers]
        ranked.append((ratio if compared else 0.0, line))
    return [cells for _, cells in sorted(ranked, key=lambda pair: -pair[0])]
