"""What a sweep says at its end: a table, what went wrong, the cells that the tables lack."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from cputrain import paths
from cputrain.analysis.ends import interval
from cputrain.report import words
from cputrain.sweep import plan
from cputrain.sweep.console import seconds, shown

if TYPE_CHECKING:
    from cputrain.report.export import Summary
    from cputrain.results.columns import Row

COUNTS = ("ok", "failed", "skipped", "not told", "without an effect")
"""How cells end; those that are not told, or have no effect, are ok too."""


def table(rows: Sequence[Row], machine: str, suites: Sequence[plan.Planned]) -> Table:
    """A line for each suite and engine: its fastest and slowest value, and how cells ended.

    Args:
        rows: of this machine.
        machine: its name.
        suites: that the sweep takes.
    """
    rows = _there(rows, suites)
    whole = Table(title=f"How much each variable changes the step time on {shown(machine)}")
    for column in ("suite", "fastest", "slowest", "cells"):
        whole.add_column(column, no_wrap=column == "suite", overflow="fold")
    baselines: dict[tuple[str, str | None], str | None] = {}
    for planned in suites:  # a suite may be there for each environment
        for cell in planned.cells:
            key = planned.name, cell.engine if planned.suite.engines else None
            baselines[key] = baselines.get(key) or cell.baseline
    apart = [_line(rows, *key, baseline) for key, baseline in baselines.items()]
    for _, texts in sorted(apart, key=lambda pair: -pair[0]):
        whole.add_row(*map(shown, texts))
    return whole


def _there(rows: Sequence[Row], suites: Iterable[plan.Planned]) -> list[Row]:
    """The rows that have a number, and those without one that their suite still has."""
    names = {(p.name, paths.cell_name(values)) for p in suites for values in p.suite.cells()}
    return [r for r in rows if r["status"] == "ok" or (r["suite"], r["value"]) in names]


def lines(summary: Summary, machine: str, left_out: Sequence[str], quick: bool) -> Iterator[str]:
    """The first screen, if there is one, between empty lines; then what went wrong.

    Args:
        summary: the tables.
        machine: whose.
        left_out: suites that there was no time for.
        quick: the sweep was.
    """
    screen = summary.screen(machine)
    if screen is not None:
        yield from ("", *filter(None, screen), "")
    for problem in summary.problems:
        yield f"problem: {problem}"
    if quick and any(row["mode"] == "full" for row in summary.rows_of(machine)):
        yield "quick results stand in the tables only where there are no full ones"
    if left_out:
        yield f"left out for lack of time: {', '.join(left_out)}; the next run takes them up"


def places(summary: Summary, machine: str) -> Iterator[str]:
    """Where everything lies."""
    if summary.screen(machine) is not None:
        yield f"report: result/{machine}/report.html"
    yield f"tables: {summary.where}, and one CSV for each suite"


def without_number(
    rows: Sequence[Row], suites: Iterable[plan.Planned]
) -> Iterator[tuple[str, str, Row]]:
    """Cells that have run and stand in the tables without a number: suite, cell, row.

    Args:
        rows: of this machine.
        suites: that have run, in this call or before it was stopped.
    """
    by_cell = {(row["suite"], row["value"]): row for row in rows}
    missing = {"status": "failed", "reason": "the tables do not have it"}
    for planned in suites:
        for cell in planned.cells:
            row = by_cell.get((planned.name, cell.name), missing)
            if cell.why_not is None and row["status"] not in ("ok", "skipped"):
                yield planned.name, cell.name, row


def _line(
    rows: Sequence[Row], suite: str, engine: str | None, baseline: str | None
) -> tuple[float, list[str]]:
    """How far apart a line's effects are, as a logarithm, and its texts.

    Args:
        rows: of this machine.
        suite: of the line.
        engine: None where that is no parameter of the suite.
        baseline: the cell that others are compared with; None without one.
    """
    # By name: a cell whose record cannot be read has a folder, and no engine is known of it.
    end = "" if engine is None else f"-{engine}"
    of_line = [row for row in rows if row["suite"] == suite and row["value"].endswith(end)]
    ok = [row for row in of_line if row["status"] == "ok"]
    skipped = sum(row["status"] == "skipped" for row in of_line)
    open_cells = sum(row["verdict"] == "not told" and row["value"] != baseline for row in ok)
    paired = [row for row in ok if row["effect"] is not None and row["value"] != baseline]
    held_up = [row for row in ok if row["effect"] is None and row["dropped_pairs"]]
    without = sum(row["value"] != baseline for row in held_up)
    counts = (len(ok), len(of_line) - len(ok) - skipped, skipped, open_cells, without)
    cells = [f"{count} {how}" for count, how in zip(counts, COUNTS, strict=True) if count]
    name = suite if engine is None else f"{suite}, {engine}"
    if paired:
        # The baseline is 1 by definition; what its own pairs say is noise.
        effects = [(float(row["effect"]), row) for row in paired]
        effects += [(1.0, row) for row in ok if row["value"] == baseline]
        ends = [pick(effects, key=lambda pair: pair[0]) for pick in (min, max)]
        texts = [_effect(row, end, row["value"] == baseline) for _, row in ends]
        apart = math.log(ends[1][0] / ends[0][0])
    elif without:  # their seconds are of other moments than the baseline's
        texts, apart = ["-", "-"], 0.0
    else:
        by_time = sorted(ok, key=lambda row: float(row["step_s"]))
        texts = [_seconds(row, end) for row in (by_time[0], by_time[-1])] if ok else ["-", "-"]
        apart = 0.0
    return apart, [name, *texts, ", ".join(cells) or "-"]


def _effect(row: Row, end: str, is_baseline: bool) -> str:
    """ "512: 1.93x [1.90, 1.96] slower"."""
    value = row["value"].removesuffix(end)
    if is_baseline:
        return f"{value}: baseline"
    effect = words.effect(row["effect"], *interval(row))
    return f"{value}: {effect} {words.told(row)}"


def _seconds(row: Row, end: str) -> str:
    """ "mlm-80m: 1.93 s", of a suite of which nothing ran beside its baseline."""
    return f"{row['value'].removesuffix(end)}: {seconds(row['step_s'])}"
