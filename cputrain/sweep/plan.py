"""Which suites and cells there are under benchmarks/, and which of them cannot be."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.experiment.same_work import is_unchanged
from cputrain.run import placement, stacks, suite
from cputrain.run.variable import is_baseline


@dataclass(frozen=True)
class PlannedCell:
    """One value of a suite: what it runs, and why this machine cannot, if so.

    Attributes:
        baseline: name of the cell that this one is compared with; None where there is none.
        reference: identity of what runs beside it; None where nothing does.
    """

    values: tuple[Any, ...]
    experiment: Experiment
    why_not: str | None
    baseline: str | None = None
    reference: str | None = None

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

    `stack` is the environment that runs these cells, where they are not all that there are;
    `takes_corpus` is whether they train on the corpus; `is_long` whether they are those that a
    first pass takes after all others (`sweep.long_cells`).
    """

    area: str
    benchmark: str
    suite: type[suite.Suite]
    cells: tuple[PlannedCell, ...]
    stack: str = stacks.MAIN
    takes_corpus: bool = True
    is_long: bool = False

    @property
    def name(self) -> str:
        """The suite's class name."""
        return self.suite.__name__

    @property
    def suite_key(self) -> str:
        """The name, and the environment's where it is not the main one."""
        return self.name if self.stack == stacks.MAIN else f"{self.name} on {self.stack}"

    @property
    def key(self) -> str:
        """`suite_key`, and which of its cells, where those are apart."""
        return f"{self.suite_key}, long cells" if self.is_long else self.suite_key

    @property
    def description(self) -> str:
        """The suite's docstring, in one paragraph."""
        return " ".join((inspect.getdoc(self.suite) or "").split())

    def asv_name(self, cell: PlannedCell) -> str:
        """The text that asv matches `--bench` against."""
        return f"{self.benchmark}({', '.join(repr(value) for value in cell.values)})"

    @property
    def baselines(self) -> tuple[PlannedCell, ...]:
        """The cells that others are compared with: one for each engine at most."""
        return tuple(cell for cell in self.cells if cell.baseline == cell.name)


@dataclass(frozen=True)
class Broken:
    """What cannot be, and why, in one line; `benchmark` is None for a whole file."""

    benchmark: str | None
    line: str


def in_order(suites: Iterable[Planned]) -> list[Planned]:
    """Suites as a pass takes them, so that those come last whose lack is felt least.

    By environment; long cells after all others; then what tells the noise and what matters to most
    people; then settings that leave the work as it is; then the others, and last those that call
    themselves late. Within these as asv does.
    """
    return sorted(suites, key=lambda p: (p.stack, p.is_long, _turn(p), p.benchmark))


def _turn(planned: Planned) -> int:
    if planned.name == "Baseline" or planned.suite.quick:
        return 0
    if planned.suite.late:
        return 3
    plain = {cell.name: cell.experiment.to_json() for cell in planned.cells}
    beside = {cell.name: plain.get(cell.baseline or "", plain[cell.name]) for cell in planned.cells}
    return 1 if all(is_unchanged(plain[name], beside[name]) for name in plain) else 2


def modules() -> tuple[dict[str, ModuleType], list[Broken]]:
    """The files of benchmarks/ by name, and those that cannot be imported."""
    parent = str(paths.BENCHMARKS.parent)
    if parent not in sys.path:
        sys.path.insert(0, parent)
    known, broken = {}, []
    for info in pkgutil.iter_modules([str(paths.BENCHMARKS)]):
        try:
            known[info.name] = importlib.import_module(f"benchmarks.{info.name}")
        except Exception as error:  # whatever the person who wrote it did
            broken.append(Broken(None, f"benchmarks/{info.name}.py: {_line(error)}"))
    return known, broken


def survey() -> tuple[list[Planned], list[Broken]]:
    """Every suite under benchmarks/ with all its cells, the A/A suite first; and what cannot be."""
    known, broken = modules()
    suites = []
    for file, module in known.items():  # all are there: two may have a suite of one name
        for kind in suites_of(module):
            benchmark = f"{file}.{kind.__name__}.{kind.time_train_steps.__name__}"
            try:
                kind.require_own_name()
                cells = _cells(kind())
            except Exception as error:  # likewise, in `base` or `vary`
                line = f"benchmarks/{file}.py: {_line(error, kind.__name__)}"
                broken.append(Broken(benchmark, line))
            else:
                suites.append(Planned(module.__doc__ or file, benchmark, kind, cells))
    return sorted(suites, key=lambda planned: planned.name != "Baseline"), broken


def suites_of(module: ModuleType) -> Iterator[type[suite.Suite]]:
    """The suites of a file; `_` before a name is what several have in common: asv leaves it too.

    What it imports is another file's, which has it in the plan.
    """
    for name, kind in vars(module).items():
        is_own = getattr(kind, "__module__", None) == module.__name__ and not name.startswith("_")
        if is_own and isinstance(kind, type) and issubclass(kind, suite.Suite):
            yield kind


def _line(error: Exception, where: str = "") -> str:
    """One line; an experiment's error names the suite and the value itself."""
    if isinstance(error, ExperimentError):
        return str(error)
    return f"{where}: {error!r}" if where else repr(error)


def _cells(kind: suite.Suite) -> tuple[PlannedCell, ...]:
    cells, samples = [], kind.base().budget.samples
    runs = {values: kind.experiments(*values) for values in kind.cells()}  # once: it takes a while
    why_not = functools.cache(placement.why_not)
    why_not_beside = functools.cache(placement.why_not_beside)  # cells share their reference
    for values, (base, varied) in runs.items():
        like = kind.cells_like(*values)
        baseline = next((cell for cell in like if is_baseline(*runs[cell])), None)
        experiment = varied.but(samples=samples)
        reason = why_not(experiment, stacks.of(experiment))
        is_paired = baseline is not None and varied.runtime.jit_state == "steady"
        if reason is None and is_paired:
            reason = placement.because_of_reference(why_not_beside(base, stacks.of(experiment)))
        name = None if baseline is None else paths.cell_name(baseline)
        reference = base.identity if is_paired else None
        cells.append(PlannedCell(values, experiment, reason, name, reference))
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
