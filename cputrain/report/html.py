"""result/<machine>/report.html: one file that needs no network: answers, pictures, every cell."""

from __future__ import annotations

import functools
import re
import shlex
import statistics
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from cputrain import wording
from cputrain.analysis import by_engine
from cputrain.analysis.ends import CellRow, measured
from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.atomic import write_text
from cputrain.report import answers, charts, trust, words
from cputrain.report.charts import Line, Scale
from cputrain.report.machine_page import MachinePage
from cputrain.report.notes import plain
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult

FILE = "report.html"
PARTS = ("report.css", "report.js")
WIDE, HIGH = 320.0, 180.0
"""The units of a small chart's view box."""
LARGEST_MEMORY = 12


@dataclass(frozen=True)
class Chart:
    """A small chart: its title, lines, and the scales that its ticks are from."""

    title: str
    lines: tuple[Line, ...]
    x: Scale
    y: Scale
    notes: tuple[str, ...] = ()


def write(result: Path, page: MachinePage) -> Path:
    """Write a machine's report; its path."""
    path = result / page.name / FILE
    write_text(path, text(page))
    return path


def text(page: MachinePage) -> str:
    """A machine's report as HTML; every text of others is escaped."""
    bars = sorted(answers.bars(page.measured), key=lambda bar: bar.effect)
    ends = [end for bar in bars for end in (bar.low, bar.high)] + [0.8, 1.25]
    identical = trust.identical_ratios(page.measured)
    drift = trust.drift(page.measured)
    every = [ratio for ratios in identical.values() for ratio in ratios]
    widest = max(trust.symmetric(every), 1.1)
    folder = Path(__file__).parent
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            a=page.answers,
            style=Markup((folder / PARTS[0]).read_text()),
            script=Markup((folder / PARTS[1]).read_text()),
            bars=bars,
            forest=charts.around(ends, 0.0, WIDE),
            same=SAME_WITHIN,
            sizes=_sizes(page),
            memory=_memory(page.measured),
            verified=trust.verified(page.measured),
            identical=identical,
            apart=Scale(1 / widest, widest, 8.0, WIDE - 8.0),
            drift=_drift(drift),
            drifted=trust.spread(drift),
            cells=page.measured,
        )
    )


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    environment.filters |= {"line": _line}
    environment.globals |= {"w": words, "setting": by_engine.setting, "note": plain}
    environment.globals |= {"record": _record, "command": _command, "effect": _effect}
    environment.globals |= {"wide": WIDE, "high": HIGH, "counted": wording.counted}
    environment.globals |= {"engine": by_engine.engine, "median": statistics.median}
    return environment


def _line(text: object) -> str:
    """One line of text; thousands stay together."""
    return re.sub(r"(?<=\d) (?=\d{3}\b)", "\N{NO-BREAK SPACE}", wording.one_line(text))


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


def _sizes(page: MachinePage) -> list[Chart]:
    """For each suite of sizes time over size on two logarithmic axes, a line for each engine."""
    made = []
    for suite in page.sizes:
        lines: dict[str, list[tuple[float, float]]] = {}
        for cell, row in page.measured:
            entry = measured(cell, row) if cell.suite == suite.suite else None
            size = _number(cell)
            if entry is not None and size is not None:
                name = by_engine.engine(cell) or suite.suite
                lines.setdefault(name, []).append((size, entry.effect))
        points = [point for its in lines.values() for point in its]
        if len({size for size, _ in points}) < 3:
            continue
        x = charts.around([size for size, _ in points], 44.0, WIDE - 8.0)
        y = charts.around([effect for _, effect in points], HIGH - 24.0, 10.0)
        exponents = [
            f"{line.engine or suite.suite}: k = {words.number(line.exponent, 2)}"
            for line in (suite, *suite.others)
            if line.exponent is not None
        ]
        drawn = tuple(
            Line(name, tuple((x.place(size), y.place(effect)) for size, effect in sorted(its)))
            for name, its in lines.items()
        )
        made.append(Chart(suite.suite, drawn, x, y, tuple(exponents)))
    return made


def _number(cell: CellResult) -> float | None:
    """A cell's value as a size; None where it is none."""
    match by_engine.settings(cell):
        case (bool(),):
            return None
        case (int() | float() as value,) if value > 0:
            return float(value)
        case _:
            return None


def _memory(cells: Sequence[CellRow]) -> list[tuple[CellResult, Row]]:
    """The cells that held most, the largest first."""
    known = [(cell, row) for cell, row in cells if cell.ok and row["peak_rss_bytes"]]
    return sorted(known, key=lambda pair: -pair[1]["peak_rss_bytes"])[:LARGEST_MEMORY]


def _drift(points: Sequence[tuple[float, float]]) -> Chart | None:
    """The default experiment's step time through the run; None below three workers."""
    if len(points) < 3:
        return None
    x = charts.around([minute for minute, _ in points], 44.0, WIDE - 8.0, is_log=False)
    y = charts.around([1000 * s for _, s in points], HIGH - 24.0, 10.0, is_log=False)
    places = tuple((x.place(minute), y.place(1000 * seconds)) for minute, seconds in points)
    return Chart("", (Line("", places),), x, y)
