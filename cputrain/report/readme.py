"""The part of the project's README.md that says what the example measured: made from its records.

It lies between `BEGIN` and `END`; the rest of README.md is written by people.
"""

from __future__ import annotations

import datetime
import textwrap
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain.analysis import by_engine, noise_lines
from cputrain.analysis.effects import analyse
from cputrain.analysis.ends import CellRow, Measured, measured
from cputrain.analysis.unchanged import settings
from cputrain.report import templates, words
from cputrain.report.example import FOLDER
from cputrain.report.machine_page import MachinePage
from cputrain.results import machines, rows

BEGIN = "<!-- `python3 bench.py example` writes this part -->"
END = "<!-- end of this part -->"
MOST = 8
"""Lines of the table."""
WIDE = 100
TOLD = ("faster", "slower")


@dataclass(frozen=True)
class Line:
    """A line of the table: "precision: bf16 instead of fp32", and the cell with its effect."""

    what: str
    entry: Measured

    @property
    def effect(self) -> str:
        """The time over the baseline's: "0.617x [0.543, 0.711]"."""
        return words.effect(self.entry.effect, self.entry.low, self.entry.high)


def page_of(root: Path, machine: str) -> MachinePage:
    """What is known of a machine with records under `root`, without pictures."""
    facts, _ = machines.read(root, machine)
    cells, _ = rows.read(root, machine)
    path = root / "result" / machine / "machine.json"
    analysis = analyse(cells, machines.believable(facts.peaks, cells, path)[0])
    return MachinePage(facts, analysis.rows, cells, noise_lines.lines(analysis), {})


def most_telling(cells: Sequence[CellRow]) -> list[Line]:
    """The settings at unchanged work that are told to be faster or slower than the default one.

    Of each suite the surest: the one whose interval's nearer end is farthest from 1, and of what
    runs the same experiment one. Of these as many as there is room for, the surest; from the
    fastest to the slowest.
    """
    best: dict[str, Line] = {}
    for tried in settings(cells):
        entry = measured(tried.cell, tried.row)
        if entry is None or tried.row["verdict"] not in TOLD or not tried.is_of_default:
            continue
        new, old = by_engine.setting(tried.cell), by_engine.setting(tried.base)
        line = Line(f"{by_engine.variable(tried.cell)}: {new} instead of {old}", entry)
        suite = tried.cell.suite
        if suite not in best or entry.surely > best[suite].entry.surely:
            best[suite] = line
    distinct = {line.entry.cell.workers[-1].identity: line for line in best.values()}
    surest = sorted(distinct.values(), key=lambda line: -line.entry.surely)[:MOST]
    return sorted(surest, key=lambda line: line.entry.effect)


def part(page: MachinePage) -> str:
    """The part of README.md, with its markers."""
    root = f"{FOLDER}/result"
    text = templates.markdown(
        "readme.md.j2",
        {
            "root": root,
            "where": f"{root}/{urllib.parse.quote(page.name)}",
            "page": page,
            "has_picture": bool(page.bars),
            "paragraph": _filled(_how(page)),
            "lines": most_telling(page.measured),
        },
    )
    return f"{BEGIN}\n{text.strip()}\n{END}"


def put(readme: str, part: str) -> str:
    """README.md with this part in place of its own.

    Raises:
        ValueError: it has not both markers, once each.
    """
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise ValueError(f"the lines {BEGIN!r} and {END!r} are needed, once each")
    before, _, rest = readme.partition(BEGIN)
    return before + part + rest.partition(END)[2]


def _how(page: MachinePage) -> str:
    """Of what machine, with which versions, when and how."""
    ran = [(cell, row) for cell, row in page.measured if cell.ok and not row["same_as"]]
    workers = {worker.id for cell, _ in ran for worker in cell.workers}
    pairs = sum(row["pairs"] or 0 for _, row in ran)
    measured_on = [datetime.date.fromisoformat(row["started"][:10]) for _, row in ran]
    what = [page.machine.line, page.stack, *([days(measured_on)] if ran else [])]
    return (
        f"{'; '.join(what)}: the time of a training step over the baseline's, with its 99 % "
        f"interval, at unchanged work. {words.whole(len(workers))} fresh workers ran beside "
        f"workers of their baselines, in turns, {words.whole(pairs)} pairs of blocks."
        f"{' ' + page.bars_caption if page.bars else ''}"
    )


def days(measured: Sequence[datetime.date]) -> str:
    """The first and last of some days, one at least: "28 to 29 November 2026"."""
    first, last = min(measured), max(measured)
    start = f"{first.day} {first:%B %Y}"
    if first == last:
        return start
    if (first.year, first.month) == (last.year, last.month):
        start = f"{first.day}"
    return f"{start} to {last.day} {last:%B %Y}"


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDE, break_long_words=False, break_on_hyphens=False)
