"""Which suites and cells there are, which of them a run takes, and how long that will be."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from cputrain import paths, placement, suite
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.guess import guess_s

BETWEEN_SUITES_S = 4.0


@dataclass(frozen=True)
class Cell:
    """One value of a suite: what it runs, and why this machine cannot, if so."""

    values: tuple[Any, ...]
    experiment: Experiment
    why_not: str | None

    @property
    def name(self) -> str:
        """As in tables and folders."""
        return paths.cell_name(self.values)


@dataclass(frozen=True)
class Planned:
    """One suite and the cells of it that are to run; `area` is what its file is about."""

    area: str
    benchmark: str
    suite: type[suite.Suite]
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """The suite's class name."""
        return self.suite.__name__

    @property
    def description(self) -> str:
        """The suite's docstring, in one paragraph."""
        return " ".join((inspect.getdoc(self.suite) or "").split())

    def asv_name(self, cell: Cell) -> str:
        """The text that asv matches `--bench` against."""
        return f"{self.benchmark}({', '.join(repr(value) for value in cell.values)})"

    def rounds(self, asked: int | None) -> int:
        """Fresh workers for each cell: as asked, or as the suite says."""
        return asked or self.suite.rounds

    @property
    def baseline(self) -> Cell | None:
        """The first cell that is the baseline experiment, in however many steps; None without."""
        base = self.suite.base()
        alike = (c for c in self.cells if replace(c.experiment, budget=base.budget) == base)
        return next(alike, None)

    def pattern(self) -> str:
        """A regular expression that asv matches with these cells only."""
        return f"^({'|'.join(re.escape(self.asv_name(cell)) for cell in self.cells)})$"


def discover() -> list[Planned]:
    """Every suite under benchmarks/ with all its cells; the A/A suite first.

    Raises:
        UsageError: a file that cannot be imported, or a value that cannot be.
    """
    parent = str(paths.BENCHMARKS.parent)
    if parent not in sys.path:
        sys.path.insert(0, parent)
    found = []
    for info in pkgutil.iter_modules([str(paths.BENCHMARKS)]):
        module = _imported(info.name)
        for name, kind in vars(module).items():
            if not (isinstance(kind, type) and issubclass(kind, suite.Suite)):
                continue
            if name.startswith("_"):  # what several suites have in common; asv leaves it too
                continue
            try:
                cells = _cells(kind())
            except ExperimentError as error:
                raise UsageError(f"benchmarks/{info.name}.py: {error}") from error
            benchmark = f"{info.name}.{name}.{kind.time_train_steps.__name__}"
            found.append(Planned(module.__doc__ or info.name, benchmark, kind, cells))
    return sorted(found, key=lambda planned: planned.name != "Baseline")


def _cells(one: suite.Suite) -> tuple[Cell, ...]:
    experiments = {values: one.experiment(*values) for values in one.cells()}
    return tuple(Cell(v, e, placement.why_not(e)) for v, e in experiments.items())


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"benchmarks.{name}")
    except Exception as error:  # whatever the person who wrote it did
        what = str(error) if isinstance(error, ExperimentError) else repr(error)
        raise UsageError(f"benchmarks/{name}.py: {what}") from error


def choose(suites: Sequence[Planned], regexes: Sequence[str] | None, quick: bool) -> list[Planned]:
    """The suites and cells that a run takes.

    Args:
        suites: all of them.
        regexes: as asv's --bench: a cell is taken when one of them is found in its name.
        quick: of each suite the first, middle and last value that run here, and the baseline.

    Raises:
        UsageError: nothing matches.
    """
    chosen = []
    for planned in suites:
        cells = planned.cells
        if quick:
            here = [cell for cell in cells if cell.why_not is None]
            wanted = {*here[:1], *here[len(here) // 2 :][:1], *here[-1:], planned.baseline}
            cells = tuple(cell for cell in cells if cell in wanted)
        if regexes:
            names = {cell: planned.asv_name(cell) for cell in cells}
            cells = tuple(c for c in cells if any(re.search(r, names[c]) for r in regexes))
        if cells:
            chosen.append(replace(planned, cells=cells))
    if not chosen:
        there = ", ".join(planned.name for planned in suites)
        raise UsageError(f"no suite matches {' or '.join(regexes or [])!r}; there are {there}")
    return chosen


class Estimate:
    """Seconds that cells will take: what they took here before, or a guess from their FLOPs."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._known: dict[str, float] = {}
        for folder in folders:
            for path in sorted(folder.glob("*/*/run.json")):
                try:
                    workers = json.loads(path.read_text())["workers"]
                    done = [w["wall_s"] for w in workers if w["status"] == "ok"]
                except (OSError, ValueError, KeyError, TypeError):
                    continue  # export names broken records; a guess will do here
                if done:
                    self._known[f"{path.parent.parent.name}/{path.parent.name}"] = done[-1]

    def cell_s(self, planned: Planned, cell: Cell) -> float:
        """Seconds of one worker of `cell`."""
        if cell.why_not is not None:
            return 0.5
        known = self._known.get(f"{planned.name}/{cell.name}")
        return guess_s(cell.experiment) if known is None else known

    def suite_s(self, planned: Planned, rounds: int) -> float:
        """Seconds of a whole suite."""
        cells = sum(self.cell_s(planned, cell) for cell in planned.cells)
        return BETWEEN_SUITES_S + rounds * cells

    @property
    def is_guess(self) -> bool:
        """Whether this machine has run nothing yet."""
        return not self._known


def main(args: argparse.Namespace) -> int:
    """The `list` verb: two lines for each suite, and one for each reason to skip cells of it."""
    suites, area = discover(), ""
    for planned in suites:
        if planned.area != area:
            area = planned.area
            print(area)
        print(f"  {planned.name} ({', '.join(planned.suite.param_names)}): {planned.description}")
        here = [cell.name for cell in planned.cells if cell.why_not is None]
        print(f"    {', '.join(here) or 'nothing runs here'}")
        reasons: dict[str, list[str]] = {}
        for cell in planned.cells:
            if cell.why_not is not None:
                reason = cell.why_not.removesuffix(f", not {cell.name}")
                reasons.setdefault(reason, []).append(cell.name)
        for reason, names in reasons.items():
            print(f"    skipped: {', '.join(names)}: {reason}")
    cells = [cell for planned in suites for cell in planned.cells]
    skipped = sum(cell.why_not is not None for cell in cells)
    print(f"{len(suites)} suites, {len(cells)} cells, {skipped} of them are skipped here")
    return 0
