"""Which suites and cells there are, which of them a run takes, and how long that will be."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from cputrain import paths
from cputrain.engines import specs
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.run import placement, stacks, suite


@dataclass(frozen=True)
class PlannedCell:
    """One value of a suite: what it runs, and why this machine cannot, if so."""

    values: tuple[Any, ...]
    experiment: Experiment
    why_not: str | None

    @property
    def name(self) -> str:
        """As in tables and folders."""
        return paths.cell_name(self.values)

    @property
    def stack(self) -> str:
        """The environment that runs it, of `stacks`."""
        return stacks.of(self.experiment)


@dataclass(frozen=True)
class Planned:
    """One suite and the cells of it that are to run; `area` is what its file is about.

    `stack` is the environment that runs these cells, where they are not all that there are.
    """

    area: str
    benchmark: str
    suite: type[suite.Suite]
    cells: tuple[PlannedCell, ...]
    stack: str = stacks.MAIN

    @property
    def name(self) -> str:
        """The suite's class name."""
        return self.suite.__name__

    @property
    def key(self) -> str:
        """The name, and the environment's where it is not the main one."""
        return self.name if self.stack == stacks.MAIN else f"{self.name} on {self.stack}"

    @property
    def description(self) -> str:
        """The suite's docstring, in one paragraph."""
        return " ".join((inspect.getdoc(self.suite) or "").split())

    def asv_name(self, cell: PlannedCell) -> str:
        """The text that asv matches `--bench` against."""
        return f"{self.benchmark}({', '.join(repr(value) for value in cell.values)})"

    def rounds(self, asked: int | None) -> int:
        """Fresh workers for each cell: as asked, or as the suite says."""
        return asked or self.suite.rounds

    @property
    def baseline(self) -> PlannedCell | None:
        """The first cell that is the baseline experiment, in however many steps; None without."""
        base = specs.settle(self.suite.base())
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


def _cells(one: suite.Suite) -> tuple[PlannedCell, ...]:
    experiments = {values: one.experiment(*values) for values in one.cells()}
    return tuple(
        PlannedCell(v, e, placement.why_not(e, stacks.of(e))) for v, e in experiments.items()
    )


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"benchmarks.{name}")
    except Exception as error:  # whatever the person who wrote it did
        what = str(error) if isinstance(error, ExperimentError) else repr(error)
        raise UsageError(f"benchmarks/{name}.py: {what}") from error


def choose(
    suites: Sequence[Planned], regexes: Sequence[str] | None, quick: bool, ipex: bool = False
) -> list[Planned]:
    """The suites and cells that a run takes; each suite once for each environment it needs.

    Args:
        suites: all of them.
        regexes: as asv's --bench: a cell is taken when one of them is found in its name.
        quick: of each suite the first, middle and last value that run here, and the baseline.
        ipex: also cells that need IPEX's environment.

    Raises:
        UsageError: nothing matches.
    """
    chosen = []
    for planned in suites:
        cells = [cell for cell in planned.cells if ipex or cell.stack == stacks.MAIN]
        if quick:
            here = [cell for cell in cells if cell.why_not is None]
            wanted = {*here[:1], *here[len(here) // 2 :][:1], *here[-1:], planned.baseline}
            cells = [cell for cell in cells if cell in wanted]
        if regexes:
            names = {cell: planned.asv_name(cell) for cell in cells}
            cells = [c for c in cells if any(re.search(r, names[c]) for r in regexes)]
        for stack in stacks.ALL:
            if mine := tuple(cell for cell in cells if cell.stack == stack):
                chosen.append(replace(planned, cells=mine, stack=stack))
    if chosen:
        return chosen
    asked = repr(" or ".join(regexes or []))
    if not ipex and only_ipex(suites, regexes, quick):
        raise UsageError(f"{asked} matches cells of IPEX's environment only: add --ipex")
    there = ", ".join(planned.name for planned in suites)
    raise UsageError(f"no suite matches {asked}; there are {there}")


def only_ipex(
    suites: Sequence[Planned], regexes: Sequence[str] | None, quick: bool
) -> list[Planned]:
    """What `choose` takes with ipex and not without."""
    try:
        chosen = choose(suites, regexes, quick, ipex=True)
    except UsageError:
        return []
    return [planned for planned in chosen if planned.stack == stacks.IPEX]
