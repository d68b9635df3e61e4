"""result/<machine>/report.html: one file that needs no network: answers, pictures, every cell."""

from __future__ import annotations

import re
import shlex
import statistics
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from cputrain import wording
from cputrain.analysis import by_engine
from cputrain.analysis.ends import CellRow
from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.atomic import write_text
from cputrain.report import answers, charts, claims, drawn, parts, templates, trust, words
from cputrain.report.charts import Scale
from cputrain.report.drawn import HIGH, WIDE
from cputrain.report.machine_page import MachinePage
from cputrain.report.notes import plain
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult

FILE = "report.html"
STYLE, SCRIPT = "report.css", "report.js"
LARGEST_MEMORY = 12
SAID = {
    "w": words,
    "setting": by_engine.setting,
    "note": plain,
    "median": statistics.median,
    "wide": WIDE,
    "high": HIGH,
    "same": SAME_WITHIN,
    "parts": parts,
    "claims": claims,
}
"""What the template calls."""


def write(result: Path, page: MachinePage) -> Path:
    """Write a machine's report; its path."""
    path = result / page.name / FILE
    write_text(path, text(page))
    return path


def text(page: MachinePage) -> str:
    """A machine's report as HTML; every text of others is escaped."""
    bars = sorted(answers.bars(page.measured), key=lambda bar: bar.effect)
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
        "forest": charts.around([*ends, 0.8, 1.25], 0.0, WIDE),
        "sizes": drawn.sizes(page),
        "memory": _memory(page.measured),
        "verified": trust.verified(page.measured),
        "identical": identical,
        "apart": Scale(1 / widest, widest, 8.0, WIDE - 8.0),
        "drift": drawn.drift(drift),
        "drifted": trust.spread(drift),
        "cells": page.measured,
        "record": _record,
        "command": _command,
        "effect": _effect,
    }
    return templates.html("report.html.j2", {**SAID, **context})


def _record(cell: CellResult) -> str:
    """From the report to a cell's raw steps."""
    mode = ("quick",) if cell.mode == "quick" else ()
    suite, _, value = (cell.same_as or cell.name).partition("/")
    parts = (cell.machine, *mode, suite, value, "run.json")
    return "../../output/" + "/".join(
        urllib.parse.quote(wording.one_line(p), safe="") for p in parts
    )


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
    return words.effect(row["effect"], row["effect_low"], row["effect_high"])


def _memory(cells: Sequence[CellRow]) -> list[tuple[CellResult, Row]]:
    """The cells that held most, the largest first."""
    known = [(cell, row) for cell, row in cells if cell.ok and row["peak_rss_bytes"]]
    return sorted(known, key=lambda pair: -pair[1]["peak_rss_bytes"])[:LARGEST_MEMORY]
