"""Which suites and cells there are, and which of them a run takes."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.run import placement, stacks, suite


@dataclass(frozen=True)
class PlannedCell:
    """One value of a suite: what it runs, and why this machine cannot, if so.

    Attributes:
        baseline: name of the cell that this one is compared with; None where there is none.
    """

    values: tuple[Any, ...]
    experiment: Experiment
    why_not: str | None
    baseline: str | None = None

    @property
    def name(self) -> str:
        """As in tables and folders."""
        return paths.cell_name(self.values)

    @property
    def engine(self) -> str:
        """What trains."""
        return self.experiment.runtime.engine

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
    def baselines(self) -> tuple[PlannedCell, ...]:
        """The cells that others are compared with: one for each engine at most."""
        return tuple(cell for cell in self.cells if cell.baseline == cell.name)

    @property
    def baseline(self) -> PlannedCell | None:
        """The first of `baselines`; None without."""
        return next(iter(self.baselines), None)

    def pattern(self) -> str:
        """A regular expression that asv matches with these cells only."""
        return f"^({'|'.join(re.escape(self.asv_name(cell)) for cell in self.cells)})$"


@dataclass(frozen=True)
class Broken:
    """What cannot be, and why, in one line; `benchmark` is None for a whole file."""

    benchmark: str | None
    line: str


def discover() -> list[Planned]:
    """Every suite under benchmarks/ with all its cells; the A/A suite first.

    Raises:
        UsageError: a file that cannot be imported, or a value that cannot be.
    """
    suites, broken = survey()
    for problem in broken:
        raise UsageError(problem.line)
    return suites


def survey() -> tuple[list[Planned], list[Broken]]:
    """Every suite under benchmarks/ with all its cells, the A/A suite first; and what cannot be."""
    parent = str(paths.BENCHMARKS.parent)
    if parent not in sys.path:
        sys.path.insert(0, parent)
    suites, broken = [], []
    for info in pkgutil.iter_modules([str(paths.BENCHMARKS)]):
        file = f"benchmarks/{info.name}.py"
        try:
            module = importlib.import_module(f"benchmarks.{info.name}")
        except Exception as error:  # whatever the person who wrote it did
            broken.append(Broken(None, f"{file}: {_said(error)}"))
            continue
        for kind in _suites(module):
            benchmark = f"{info.name}.{kind.__name__}.{kind.time_train_steps.__name__}"
            try:
                cells = _cells(kind())
            except Exception as error:  # likewise, in `base` or `vary`
                broken.append(Broken(benchmark, f"{file}: {_said(error, kind.__name__)}"))
            else:
                suites.append(Planned(module.__doc__ or info.name, benchmark, kind, cells))
    return sorted(suites, key=lambda planned: planned.name != "Baseline"), broken


def _suites(module: ModuleType) -> Iterator[type[suite.Suite]]:
    """The suites of a file; `_` before a name is what several have in common: asv leaves it too."""
    for name, kind in vars(module).items():
        if isinstance(kind, type) and issubclass(kind, suite.Suite) and not name.startswith("_"):
            yield kind


def _said(error: Exception, where: str = "") -> str:
    """One line; an experiment's error names the suite and the value itself."""
    if isinstance(error, ExperimentError):
        return str(error)
    return f"{where}: {error!r}" if where else repr(error)


def _cells(kind: suite.Suite) -> tuple[PlannedCell, ...]:
    cells = []
    for values in kind.cells():
        experiment, baseline = kind.experiment(*values), kind.baseline(*values)
        why_not = placement.why_not(experiment, stacks.of(experiment))
        name = None if baseline is None else paths.cell_name(baseline)
        cells.append(PlannedCell(values, experiment, why_not, name))
    return tuple(cells)


def refuse(broken: Iterable[Broken], regexes: Sequence[str] | None) -> None:
    """Refuse a run that would take a suite that cannot be, or a file that asv cannot import.

    Raises:
        UsageError: with the first one's line.
    """
    for problem in broken:
        if problem.benchmark is None:
            raise UsageError(problem.line)
        if not regexes or any(re.search(regex, problem.benchmark) for regex in regexes):
            raise UsageError(f"{problem.line}; --bench runs other suites")


def choose(
    suites: Sequence[Planned], regexes: Sequence[str] | None, quick: bool, ipex: bool = False
) -> list[Planned]:
    """The suites and cells that a run takes; each suite once for each environment it needs.

    Args:
        suites: all of them.
        regexes: as asv's --bench: a cell is taken when one of them is found in its name.
        quick: of each suite and engine the first, middle and last value that run here, and the
            baseline.
        ipex: also cells that need IPEX's environment.

    Raises:
        UsageError: nothing matches.
    """
    chosen = []
    for planned in suites:
        cells = [cell for cell in planned.cells if ipex or cell.stack == stacks.MAIN]
        if quick:
            cells = _few(planned, cells)
        if regexes:
            names = {cell: planned.asv_name(cell) for cell in cells}
            cells = [c for c in cells if any(re.search(r, names[c]) for r in regexes)]
        for stack in stacks.ALL:
            if mine := tuple(cell for cell in cells if cell.stack == stack):
                chosen.append(replace(planned, cells=mine, stack=stack))
    if chosen:
        return chosen
    asked = " or ".join(regexes or [])
    if not ipex and only_ipex(suites, regexes, quick):
        raise UsageError(f"{asked!r} matches cells of IPEX's environment only: add --ipex")
    raise UsageError(f"no suite matches {asked!r}; {_meant(asked, [p.name for p in suites])}")


def _few(planned: Planned, cells: list[PlannedCell]) -> list[PlannedCell]:
    """Of each engine that is a parameter the first, middle and last that run here; baselines."""
    wanted = {*planned.baselines}
    here = [cell for cell in cells if cell.why_not is None]
    engines = [cell.values[-1] if planned.suite.engines else None for cell in here]
    for engine in dict.fromkeys(engines):
        mine = [cell for cell, its in zip(here, engines, strict=True) if its == engine]
        wanted |= {mine[0], mine[len(mine) // 2], mine[-1]}
    return [cell for cell in cells if cell in wanted]


def _meant(asked: str, names: Collection[str]) -> str:
    """The suite of the nearest name, in whatever case; all of them where none is near."""
    by_lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(asked.lower(), by_lower, n=1)
    return f"did you mean {by_lower[near[0]]}?" if near else f"there are {', '.join(names)}"


def only_ipex(
    suites: Sequence[Planned], regexes: Sequence[str] | None, quick: bool
) -> list[Planned]:
    """What `choose` takes with ipex and not without."""
    try:
        chosen = choose(suites, regexes, quick, ipex=True)
    except UsageError:
        return []
    return [planned for planned in chosen if planned.stack == stacks.IPEX]
