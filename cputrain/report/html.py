"""result/<machine>/report.html: one file that needs no network: answers, pictures, every cell."""

from __future__ import annotations

import functools
import os
import re
import shlex
import statistics
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from cputrain import wording
from cputrain.analysis import by_engine, cpus_apart, places
from cputrain.analysis.ends import CellRow, interval
from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.atomic import write_made
from cputrain.report import (
    charts,
    claims,
    cost_plot,
    cost_table,
    drawn,
    parts,
    templates,
    trained,
    trained_plot,
    trust,
    words,
)
from cputrain.report.charts import Scale
from cputrain.report.drawn import HIGH, INSET, WIDE
from cputrain.report.machine_page import MachinePage
from cputrain.report.notes import plain
from cputrain.report.page import link as page_link
from cputrain.report.picture import color
from cputrain.results import packed, records
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult

FILE = "report.html"
STYLE, SCRIPT = "report.css", "report.js"
LARGEST_MEMORY = 12
COMMON = {
    "w": words,
    "setting": by_engine.setting,
    "note": plain,
    "median": statistics.median,
    "wide": WIDE,
    "high": HIGH,
    "color": color,
    "ticks": drawn.times,
    "same": SAME_WITHIN,
    "parts": parts,
    "claims": claims,
    "costs": cost_table,
    "cost_plot": cost_plot,
    "runs": trained,
    "run_plot": trained_plot,
    "link": page_link,
}
"""What the template calls."""


def write(result: Path, page: MachinePage) -> Path:
    """Write a machine's report; its path."""
    path = result / page.name / FILE
    write_made(path, text(page, result.parent / "output"))
    return path


def text(page: MachinePage, output: Path) -> str:
    """A machine's report as HTML; every text of others is escaped.

    Args:
        page: what it says.
        output: where the records lie.
    """
    bars = sorted(page.bars, key=lambda bar: bar.effect)
    ends = [end for bar in bars for end in (bar.low, bar.high)]
    identical = trust.identical_ratios(page.measured)
    drift = trust.newest_drift(page.measured)
    every = [ratio for ratios in identical.values() for ratio in ratios]
    widest = max(trust.symmetric(every), 1.1)
    folder = Path(__file__).parent
    context = {
        "page": page,
        "a": page.answers,
        "style": Markup((folder / STYLE).read_text()),
        "script": Markup((folder / SCRIPT).read_text()),
        "bars": bars,
        "forest": charts.around([*ends, 0.8, 1.25], INSET, WIDE - INSET),
        "sizes": drawn.sizes(page),
        "memory": _memory(page.measured),
        "verified": trust.verified(page.measured),
        "identical": identical,
        "apart": Scale(1 / widest, widest, INSET, WIDE - INSET),
        "drift": drawn.drift(drift),
        "drifted": trust.spread(drift),
        "moved": cpus_apart.apart(page.measured),
        "where": places.WORDS,
        "cells": page.measured,
        "record": functools.partial(_record, output),
        "command": _command,
        "effect": _effect,
    }
    return templates.html("report.html.j2", {**COMMON, **context})


def _record(output: Path, cell: CellResult) -> tuple[str, str]:
    """From the report to a cell's raw steps: the link, and what it says."""
    mode = ("quick",) if cell.mode == "quick" else ()
    suite, _, value = (cell.same_as or cell.name).partition("/")
    below = (*mode, suite, value, records.FILE)
    is_packed = not os.path.lexists(output.joinpath(cell.machine, *below))
    label = f"{packed.FILE}, {'/'.join(below)}" if is_packed else records.FILE
    parts = (cell.machine, *((packed.FILE,) if is_packed else below))
    quoted = (urllib.parse.quote(wording.one_line(part), safe="") for part in parts)
    return "../../output/" + "/".join(quoted), label


def _command(cell: CellResult) -> str:
    """What measures a cell again."""
    values = ", ".join(map(repr, cell.values))
    pattern = re.escape(f"{cell.suite}.time_train_steps({values})")
    return f"python3 bench.py run --bench {shlex.quote(wording.one_line(pattern))}"


def _effect(cell: CellResult, row: Row) -> str:
    if not cell.ok or row["effect"] is None:
        return ""
    if cell.is_baseline:
        return "baseline"
    return words.effect(row["effect"], *interval(row))


def _memory(cells: Sequence[CellRow]) -> list[tuple[CellResult, Row]]:
    """The cells that held most, the largest first."""
    known = [(cell, row) for cell, row in cells if cell.ok and row["peak_rss_bytes"]]
    return sorted(known, key=lambda pair: -pair[1]["peak_rss_bytes"])[:LARGEST_MEMORY]
