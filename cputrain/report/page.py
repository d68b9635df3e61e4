"""result/README.md: what the numbers say, then a table and a plot for each suite."""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import jinja2

from cputrain.analysis import noise_floor, ranking
from cputrain.atomic import write_text
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.report import engines, presets, words
from cputrain.report.notes import note
from cputrain.report.skipped import by_reason, general
from cputrain.results.columns import VERSIONS, Row
from cputrain.results.machines import MachineFacts
from cputrain.results.records import Problem
from cputrain.results.rows import CellResult

NAMES = {"ipex": "IPEX", "cc_version": "", "python": "Python"}
"""What `columns.VERSIONS` are called, where not as their columns; a compiler says its name."""


@dataclass(frozen=True)
class MachinePage:
    """What the page says of one machine.

    Attributes:
        rows, cells: of the same cells, in order.
        noise: the noise floor; None without the A/A suite.
        pairs: of A/A cells, and how many the interval calls different.
        plots: SVG of each suite that has one.
        known: suites that there are, whether they ran or not.
        engines: rows of `results.engines`; empty where they did not run side by side.
    """

    machine: MachineFacts
    rows: Sequence[Row]
    cells: Sequence[CellResult]
    noise: float | None
    pairs: noise_floor.Pairs
    plots: Mapping[str, Path]
    known: Collection[str] = ()
    engines: Sequence[Row] = ()

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def ranked(self) -> list[ranking.Ranked]:
        """The suites that vary something, by how much it changes the step time."""
        # Without a baseline, a suite's values are not settings of one variable.
        others = {cell.suite for cell in self.cells if cell.key.baseline is None}
        others.add(noise_floor.SUITE)
        return [one for one in ranking.rank(self.rows) if one.suite not in others]

    @property
    def published(self) -> list[presets.Line]:
        """The presets beside what their sources say; empty where none ran."""
        return presets.lines(self.rows, note)

    @property
    def aa_cells(self) -> int:
        """Cells of the A/A suite that have a number."""
        return sum(r["suite"] == noise_floor.SUITE and r["status"] == "ok" for r in self.rows)

    @property
    def baseline_s(self) -> float | None:
        """Seconds per baseline step: median over the A/A cells, else over all baseline cells.

        Cells with a disturbed sample count only where there is no other.
        """
        usual = specs.settle(Experiment()).identity
        baselines = [
            (cell.suite, bool(row["disturbed_samples"]), row["step_s"])
            for cell, row in zip(self.cells, self.rows, strict=True)
            if cell.ok and cell.workers and cell.workers[-1].identity == usual
        ]
        baselines = [one for one in baselines if one[0] == noise_floor.SUITE] or baselines
        baselines = [one for one in baselines if not one[1]] or baselines
        times = [step_s for _, _, step_s in baselines]
        return statistics.median(times) if times else None

    @property
    def stack(self) -> str:
        """Versions of what was measured, every one that occurs."""
        found, every = [], (*self.rows, *self.engines)
        for column in VERSIONS:
            name = NAMES.get(column, column)
            versions = sorted({row[column] for row in every if row.get(column)})
            found += [f"{name} {' and '.join(versions)}".strip()] if versions else []
        return ", ".join(found)

    def suites(self) -> list[tuple[str, list[Row], str]]:
        """Suites of which something ran, as ranked: name, rows, and what is varied."""
        ran = dict.fromkeys([one.suite for one in self.ranked])
        ran |= dict.fromkeys(cell.suite for cell in self.cells)
        first = {cell.suite: " x ".join(cell.param_names) for cell in reversed(self.cells)}
        return [(s, [row for row in self.rows if row["suite"] == s], first[s]) for s in ran]

    @property
    def not_run(self) -> list[str]:
        """Suites of which nothing ran."""
        ran = {cell.suite for cell in self.cells}
        return [suite for suite in self.known if suite not in ran]

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """The cells that this machine cannot run, by reason."""
        return by_reason(self.rows)


def write(
    result: Path,
    pages: Sequence[MachinePage],
    problems: Sequence[Problem],
) -> Path:
    """Write result/README.md; its path."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # it is Markdown: `words.cell` escapes what is not ours
    )
    environment.globals |= {"w": words, "lines": lines, "note": note, "base": Experiment()}
    environment.globals |= {"chosen": presets.chosen, "engines": engines}
    template = environment.get_template("page.md.j2")
    known = [page for page in pages if page.baseline_s]
    text = template.render(
        pages=sorted(pages, key=lambda page: page.baseline_s or float("inf")),
        fastest=min((page.baseline_s for page in known if page.baseline_s), default=None),
        descriptions={c.suite: c.key.description for p in pages for c in p.cells},
        problems=problems,
        link=lambda path: path.relative_to(result).as_posix(),
    )
    path = result / "README.md"
    write_text(path, re.sub(r"\n{3,}", "\n\n", text))
    return path


def lines(rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """A suite's rows with the value's label; neighbours without a number and one reason are one."""
    found: list[tuple[str, Row]] = []
    for _, several in groupby(enumerate(rows), key=lambda pair: _alike(*pair)):
        group = [row for _, row in several]
        label = ", ".join(row["value"] for row in group)
        reason = group[0]["reason"] if len(group) == 1 else general(group[0])
        found.append((label, group[0] | {"reason": reason}))
    return found


def _alike(index: int, row: Row) -> tuple[str, str | int]:
    return row["status"], index if row["status"] == "ok" else general(row)
