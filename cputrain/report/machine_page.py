"""What the page says of one machine: its suites as ranked, its step time, noise and versions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cputrain.analysis import ranking
from cputrain.analysis.claims.judge import ClaimVerdict
from cputrain.analysis.cost.costs import Costs
from cputrain.analysis.ends import CellRow
from cputrain.analysis.noise_lines import NoiseLine
from cputrain.analysis.open_cells import Declared, Key
from cputrain.analysis.paired.planning import Candidate
from cputrain.experiment import Experiment
from cputrain.report import answers, baseline, forest, one_off, presets
from cputrain.report.forest import Bar
from cputrain.report.notes import note
from cputrain.report.other_commits import CommitsPage
from cputrain.report.skipped import by_reason
from cputrain.report.statements import Answers
from cputrain.report.suite_table import SuiteTable
from cputrain.report.trained import TrainedRuns
from cputrain.results.columns import VERSIONS, Row
from cputrain.results.machines import MachineFacts
from cputrain.results.rows import CellResult
from cputrain.wording import counted

NAMES = {"ipex": "IPEX", "cc_version": "", "python": "Python"}
"""What `columns.VERSIONS` are called, where not as their columns; a compiler says its name."""

MOST_NAMED = 8
"""Suites of which nothing ran that are named."""


@dataclass(frozen=True)
class MachinePage:
    """What the page says of one machine.

    Attributes:
        rows, cells: of the same cells, in order.
        noises: of its engines, the newest session first.
        plots: SVG of each suite that has one.
        known: suites that there are, whether they ran or not.
        engines: rows of `results.engines`; empty where they did not run side by side.
        parts: rows of `analysis.step_parts`; empty where no step was watched.
        claims: verdicts; empty where nothing was measured for any.
        costs: what steps cost by their parts; None where too few cells tell that.
        trained: its training runs.
        commits: other commits that asv has measured.
        compared: pages of comparisons of releases and commits: file and title.
        beside: names of comparisons with other machines.
        candidates: cells that may get another pass.
        declared: the cells that its suites have now.
    """

    machine: MachineFacts
    rows: Sequence[Row]
    cells: Sequence[CellResult]
    noises: Sequence[NoiseLine]
    plots: Mapping[str, Path]
    known: Collection[str] = ()
    engines: Sequence[Row] = ()
    parts: Sequence[Row] = ()
    claims: Sequence[ClaimVerdict] = ()
    costs: Costs | None = None
    trained: TrainedRuns = field(default_factory=TrainedRuns)
    commits: CommitsPage = field(default_factory=CommitsPage)
    compared: Sequence[tuple[str, str]] = ()
    beside: Sequence[str] = ()
    candidates: Sequence[Candidate[Key]] = ()
    declared: Declared = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def measured(self) -> list[CellRow]:
        """Each cell with its row."""
        return list(zip(self.cells, self.rows, strict=True))

    @cached_property
    def ranked(self) -> list[ranking.Ranked]:
        """The suites that vary something, by how surely it changes the step time."""
        return ranking.rank(self.measured)

    @property
    def settings(self) -> list[ranking.Ranked]:
        """Suites whose values all do the same work."""
        return [suite for suite in self.ranked if suite.kind == "settings"]

    @property
    def trainings(self) -> list[ranking.Ranked]:
        """Suites whose values train something else at the same size."""
        return [suite for suite in self.ranked if suite.kind == "trainings"]

    @property
    def sizes(self) -> list[ranking.Ranked]:
        """Suites whose values are of different sizes."""
        return [suite for suite in self.ranked if suite.kind == "sizes"]

    @property
    def starts(self) -> list[one_off.Start]:
        """What each engine costs once in a run."""
        return one_off.starts(self.rows)

    @property
    def first_steps(self) -> list[one_off.FirstStep]:
        """The cells that time a first step."""
        return one_off.first_steps(self.measured)

    @property
    def published(self) -> list[presets.Line]:
        """The presets beside what their sources say; empty where none ran."""
        return presets.lines(self.rows, note)

    @cached_property
    def answers(self) -> Answers:
        """The first screen."""
        return answers.answers(self.measured, self.candidates, self.declared)

    @cached_property
    def bars(self) -> list[Bar]:
        """Of the picture of its settings, plots/settings.svg; empty where it has none."""
        return answers.bars(self.measured)

    @property
    def bars_caption(self) -> str:
        """What the signs of that picture mean."""
        return forest.caption(self.bars)

    @property
    def others(self) -> dict[str, str]:
        """Further pages of it, and their files in its folder."""
        pages = {
            "where the time of a step goes": (self.parts, "parts.md"),
            "claims of others, put to the test": (self.claims, "claims.md"),
            "published runs": (self.published, "published.md"),
            "engines side by side": (self.engines, "engines.md"),
            "other commits, by asv run": (self.commits.rows, "commits.md"),
        }
        return {name: file for name, (content, file) in pages.items() if content}

    @property
    def unranked(self) -> list[str]:
        """Suites that have a page, and no line among settings or sizes."""
        ranked = {suite.suite for suite in self.ranked}
        return [table.suite for table in self.suites() if table.suite not in ranked]

    @cached_property
    def baseline_s(self) -> float | None:
        """Seconds per baseline step; None where it has no number."""
        return baseline.step_s(self.measured)

    @property
    def baseline_range_s(self) -> tuple[float, float] | None:
        """The fastest and the slowest of the baseline's moments in the newest run."""
        return baseline.range_s(self.measured)

    @property
    def noise(self) -> NoiseLine | None:
        """The usual engine's noise in the newest session that tells it; None where none does."""
        usual = Experiment().runtime.engine
        known = (line for line in self.noises if line.engine == usual and line.noise is not None)
        return next(known, None)

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
        ran = dict.fromkeys([ranked.suite for ranked in self.ranked])
        ran |= dict.fromkeys(cell.suite for cell in self.cells)
        by_suite: dict[str, list[CellRow]] = {suite: [] for suite in ran}
        for cell, row in self.measured:
            if cell.suite in ran:
                by_suite[cell.suite].append((cell, row))
        differ = {ranked.suite for ranked in self.sizes}
        return [SuiteTable(suite, cells, suite in differ) for suite, cells in by_suite.items()]

    @property
    def not_run(self) -> list[str]:
        """Suites of which nothing ran."""
        ran = {cell.suite for cell in self.cells}
        return [suite for suite in self.known if suite not in ran]

    @property
    def not_run_line(self) -> str:
        """The first of them by name, and how many more there are."""
        named, more = self.not_run[:MOST_NAMED], len(self.not_run) - MOST_NAMED
        others = f" and {counted(more, 'more suite')}: python3 bench.py" if more > 0 else ""
        return f"Not measured yet: {', '.join(named)}{others}."

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """The cells that this machine cannot run, by reason."""
        return by_reason(self.measured)
