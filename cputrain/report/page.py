"""result/README.md: what the numbers say, then a table and a plot for each suite."""

from __future__ import annotations

import re
import statistics
import urllib.parse
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from cputrain import wording
from cputrain.analysis import by_engine, noise_floor, ranking
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
class Line:
    """One line of a suite's table: a cell, or several without a number for one reason.

    Attributes:
        values: of the variable, as they are called.
        engine: None where the suite's table has no column of engines.
        row: of the first of the cells; its reason is that of all.
    """

    values: tuple[str, ...]
    engine: str | None
    row: Row


@dataclass(frozen=True)
class SuiteTable:
    """One suite's table; `cells` with their rows, in order."""

    suite: str
    cells: Sequence[ranking.CellRow]

    @property
    def variable(self) -> str:
        """What is varied."""
        return by_engine.variable(self.cells[0][0])

    @property
    def engines(self) -> list[str]:
        """The engines that its cells are of; empty where the table needs no column of them."""
        return by_engine.engines(cell for cell, _ in self.cells)

    def lines(self) -> list[Line]:
        """Its lines: value by value, in each engine by engine.

        Neighbours of one engine without a number and for one reason are one line.
        """
        lines: list[Line] = []
        last: dict[str | None, tuple[int, tuple[str, str]]] = {}
        for cell, row in self.cells:
            engine, value = by_engine.engine(cell), by_engine.setting(cell)
            same = row["status"], general(cell, row)
            index, before = last.get(engine, (-1, ("", "")))
            if row["status"] != "ok" and same == before:
                whole = row | {"reason": same[1]}
                lines[index] = Line((*lines[index].values, value), engine, whole)
            else:
                last[engine] = len(lines), same
                lines.append(Line((value,), engine, row))
        return lines


@dataclass(frozen=True)
class MachinePage:
    """What the page says of one machine.

    Attributes:
        rows, cells: of the same cells, in order.
        floors: noise floor by engine; empty without the A/A suite.
        pairs: of A/A cells, and how many the interval calls different.
        plots: SVG of each suite that has one.
        known: suites that there are, whether they ran or not.
        engines: rows of `results.engines`; empty where they did not run side by side.
    """

    machine: MachineFacts
    rows: Sequence[Row]
    cells: Sequence[CellResult]
    floors: Mapping[str | None, float]
    pairs: noise_floor.Pairs
    plots: Mapping[str, Path]
    known: Collection[str] = ()
    engines: Sequence[Row] = ()

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def measured(self) -> list[ranking.CellRow]:
        """Each cell with its row."""
        return list(zip(self.cells, self.rows, strict=True))

    @property
    def ranked(self) -> list[ranking.Ranked]:
        """The suites that vary something, by how much it changes the step time."""
        # Without a baseline, a suite's values are not settings of one variable.
        others = {cell.suite for cell in self.cells if cell.key.baseline is None}
        others.add(noise_floor.SUITE)
        return [one for one in ranking.rank(self.measured) if one.suite not in others]

    @property
    def published(self) -> list[presets.Line]:
        """The presets beside what their sources say; empty where none ran."""
        return presets.lines(self.rows, note)

    @property
    def aa_cells(self) -> int:
        """Cells of the A/A suite that have a number; of the usual engine, where it has several."""
        engines = [
            by_engine.engine(cell)
            for cell in self.cells
            if cell.suite == noise_floor.SUITE and cell.ok
        ]
        return engines.count(Experiment().runtime.engine) or len(engines)

    @property
    def baseline_s(self) -> float | None:
        """Seconds per baseline step: median over the A/A cells, else over all baseline cells.

        Cells with a disturbed sample count only where there is no other.
        """
        usual = specs.settle(Experiment()).identity
        baselines = [
            (cell.suite, bool(row["disturbed_samples"]), row["step_s"])
            for cell, row in self.measured
            if cell.ok and cell.workers and cell.workers[-1].identity == usual
        ]
        baselines = [one for one in baselines if one[0] == noise_floor.SUITE] or baselines
        baselines = [one for one in baselines if not one[1]] or baselines
        times = [step_s for _, _, step_s in baselines]
        return statistics.median(times) if times else None

    @property
    def noise(self) -> float | None:
        """The noise floor of the usual engine; None without the A/A suite."""
        return noise_floor.of_engine(self.floors, Experiment().runtime.engine)

    @property
    def stack(self) -> str:
        """Versions of what was measured, every one that occurs."""
        known, every = [], (*self.rows, *self.engines)
        for column in VERSIONS:
            name = NAMES.get(column, column)
            versions = sorted({row[column] for row in every if row.get(column)})
            known += [f"{name} {' and '.join(versions)}".strip()] if versions else []
        return ", ".join(known)

    def suites(self) -> list[SuiteTable]:
        """Suites of which something ran, as ranked."""
        ran = dict.fromkeys([one.suite for one in self.ranked])
        ran |= dict.fromkeys(cell.suite for cell in self.cells)
        by_suite: dict[str, list[ranking.CellRow]] = {suite: [] for suite in ran}
        for cell, row in self.measured:
            if cell.suite in ran:
                by_suite[cell.suite].append((cell, row))
        return [SuiteTable(suite, mine) for suite, mine in by_suite.items()]

    @property
    def not_run(self) -> list[str]:
        """Suites of which nothing ran."""
        ran = {cell.suite for cell in self.cells}
        return [suite for suite in self.known if suite not in ran]

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """The cells that this machine cannot run, by reason."""
        return by_reason(self.measured)


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
        autoescape=False,  # it is Markdown: `md` escapes what is not ours
    )
    environment.globals |= {"w": words, "note": note, "base": Experiment()}
    environment.globals |= {"md": wording.markdown, "anchor": wording.anchor}
    environment.globals |= {"counted": wording.counted, "end": _end}
    environment.globals |= {"other_engines": _other_engines, "floors": _floors}
    environment.globals |= {"chosen": presets.chosen, "engines": engines}
    template = environment.get_template("page.md.j2")
    known = [page for page in pages if page.baseline_s]
    text = template.render(
        pages=sorted(pages, key=lambda page: page.baseline_s or float("inf")),
        fastest=min((page.baseline_s for page in known if page.baseline_s), default=None),
        descriptions={c.suite: c.key.description for p in pages for c in p.cells},
        problems=problems,
        link=lambda path: urllib.parse.quote(path.relative_to(result).as_posix()),
    )
    path = result / "README.md"
    write_text(path, re.sub(r"\n{3,}", "\n\n", text))
    return path


def _end(cell: ranking.CellRow) -> str:
    """An end of a suite's range: "2048: 1.53 s"."""
    return f"{wording.markdown(by_engine.setting(cell[0]))}: {words.seconds(cell[1]['step_s'])}"


def _other_engines(suite: ranking.Ranked) -> str:
    """The same ratio on the suite's other engines: "jax 3.21x, native 4.02x"."""
    return _by_engine((other.engine, words.ratio(other.ratio)) for other in suite.others)


def _floors(page: MachinePage) -> str:
    return _by_engine((engine, words.percent(noise)) for engine, noise in page.floors.items())


def _by_engine(texts: Iterable[tuple[str | None, str]]) -> str:
    return ", ".join(f"{wording.markdown(engine)} {text}" for engine, text in texts)
