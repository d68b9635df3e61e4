"""The asv base class of every suite: values -> experiments -> workers -> the worker's clock.

A suite declares `values` and `vary`, and the engines beside torch that it has; its docstring is
its description everywhere. asv runs setup and teardown around every sample, in one process for
each cell and round: the worker starts with the first sample, lives on `self`, and ends with the
last one.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

from cputrain.engines import specs
from cputrain.experiment import PART_OF, Experiment, ExperimentError
from cputrain.machine.parent import die_with_parent
from cputrain.paths import cell_name
from cputrain.record.cell import CellKey
from cputrain.run import placement, stacks
from cputrain.run.cell import CellRun
from cputrain.run.session import Session

Values = tuple[Any, ...]
"""One value of each parameter of a suite."""
ENGINE = "engine"
"""asv's name for the last parameter of a suite that runs on several engines."""


class Suite:
    """One variable. Subclasses give `values` and `vary`, often `engines`, and little else.

    Attributes:
        values: the values of the variable, the same on every machine; for several
            variables, a tuple of tuples.
        engines: the engines beside torch that the variable is measured on, and some of `values`
            for each. The engine is then the suite's last parameter. Without any, the suite is
            about one engine, that of `base`, and has no such parameter.
        name: asv's parameter name, or names; left out, it is the field that `vary` changes.
        quick: those of `values` that `bench.py --quick` takes where nobody asks for the suite by
            name, on torch, or (value, engine); by name it takes the first, middle and last of
            each engine.
        measures_again: also cells that run what another cell of the session has run.
        version: raise it by hand when what is measured changes.
    """

    values: ClassVar[Values] = ()
    engines: ClassVar[dict[str, Values]] = {}
    name: ClassVar[str | tuple[str, ...]] = ""
    quick: ClassVar[Values] = ()
    measures_again: ClassVar[bool] = False
    version = "1"

    params: ClassVar[list[list[Any]]] = []
    param_names: ClassVar[list[str]] = []
    skip_params: ClassVar[list[Values]] = []
    unit = "seconds"
    number = 1
    rounds = 1
    repeat = Experiment().budget.samples
    min_run_count = 1
    warmup_time = 0.0
    timeout = 1800.0

    def __init_subclass__(cls) -> None:
        cls.params = _lists(cls.values)
        if cls.engines:
            cls.params.append(list(cls._by_engine()))
        try:
            declared = set(cls.cells())
            cls.skip_params = [cell for cell in product(*cls.params) if cell not in declared]
            cls.repeat = cls.base().budget.samples
            cls.param_names = cls._names()
        except Exception:  # of `base` or `vary`: other suites go on, `sweep.plan` says what it is
            cls.param_names = [cls._in_words()] * len(cls.params)

    @classmethod
    def _names(cls) -> list[str]:
        """asv's names of the parameters, as many as there are."""
        names = (cls.name,) if isinstance(cls.name, str) else cls.name
        own = list(names) if all(names) else [cls._varied_field()]
        return [*own, ENGINE] if cls.engines else own

    @classmethod
    def _varied_field(cls) -> str:
        """The one field that `vary` changes, or the class's name in small letters."""
        changed = set()
        for values in cls.cells_like(*cls.cells()[0]) if cls.values else ():
            base, varied = (experiment.flat() for experiment in cls()._experiments(*values))
            changed |= {n for n in base if varied[n] != base[n] and PART_OF[n] != "budget"}
        return changed.pop() if len(changed) == 1 else cls._in_words()

    @classmethod
    def _in_words(cls) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def base(cls) -> Experiment:
        """The baseline that this suite varies."""
        return Experiment()

    @classmethod
    def base_on(cls, engine: str) -> Experiment:
        """The baseline on one of several engines, where it is more than `base` on that engine."""
        return cls.base().but(engine=engine)

    def vary(self, base: Experiment, *values: Any) -> Experiment:
        """The experiment of one value. Suites say this; the engine is that of `base`."""
        raise NotImplementedError

    @classmethod
    def _by_engine(cls) -> dict[str, Values]:
        return {specs.FIRST: cls.values, **cls.engines}

    @classmethod
    def cells(cls) -> list[Values]:
        """Every cell that is declared: one tuple of values for each, in asv's order.

        Raises:
            ExperimentError: `engines` names a value that is none of `values`.
        """
        every = list(product(*cls.params))
        if not cls.engines:
            return every
        declared = [
            (*values, engine)
            for engine, some in cls._by_engine().items()
            for values in product(*_lists(some))
        ]
        for *values, engine in declared:
            if (*values, engine) not in every:
                value = ", ".join(map(repr, values))
                raise ExperimentError(f"{cls.__name__}.engines[{engine!r}]: {value} is no value")
        return [cell for cell in every if cell in declared]

    @classmethod
    def cells_like(cls, *values: Any) -> list[Values]:
        """The cells on the same engine as this one's, in asv's order."""
        return [c for c in cls.cells() if not cls.engines or c[-1] == values[-1]]

    @classmethod
    def baseline(cls, *values: Any) -> Values | None:
        """The cell that this one is compared with: the first of its engine that runs the baseline.

        However many steps that takes; None where no cell does.
        """
        for cell in cls.cells_like(*values):
            base, varied = cls()._experiments(*cell)
            if replace(varied, budget=base.budget) == base:
                return cell
        return None

    def experiment(self, *values: Any) -> Experiment:
        """What a cell runs, settled, with as many samples as asv asks for: those of `base`.

        Raises:
            ExperimentError: a value that cannot be, with the suite's name.
        """
        return self._experiments(*values)[1].but(samples=self.base().budget.samples)

    def _of_this_pass(self, experiment: Experiment) -> Experiment:
        """With the samples that asv asks for: more of a cell that has its own pass again."""
        pairs = Session.from_env().pairs
        return experiment if pairs is None else experiment.but(samples=pairs)

    def reference(self, *values: Any) -> Experiment | None:
        """What a cell is measured beside: its baseline, settled; None where no cell is that."""
        return None if self.baseline(*values) is None else self._experiments(*values)[0]

    def _experiments(self, *values: Any) -> tuple[Experiment, Experiment]:
        """The cell's baseline and what `vary` makes of it."""
        own, engine = (values[:-1], values[-1]) if self.engines else (values, None)
        try:
            base = self.base() if engine is None else self.base_on(engine)
            return specs.settle(base), specs.settle(self.vary(base, *own))
        except ExperimentError as error:
            value = ", ".join(map(repr, values))
            raise ExperimentError(f"{type(self).__name__}({value}): {error}") from None

    def setup(self, *values: Any) -> None:
        """asv's, before every sample: raises NotImplementedError where this machine can't."""
        if hasattr(self, "_cell"):
            return
        if Session.from_env().driven:
            die_with_parent()  # asv's processes outlive asv otherwise, and go on measuring
        first = self.cells_like(*values)[0]
        baseline = self.baseline(*values)
        self._cell = CellRun(
            self.key(*values),
            self._of_this_pass(self.experiment(*values)),
            first,
            reference=self.reference(*values),
            baseline=None if baseline is None else self.key(*baseline),
            measures_again=self.measures_again,
        )
        self._cell.leave_if(stacks.why_elsewhere(self._cell.experiment))
        self._cell.refuse_if(placement.why_not(self._cell.experiment))
        self._cell.refuse_if(self._cell.why_no_start())

    def time_train_steps(self, *values: Any) -> None:
        """Train one sample's steps in the worker; `timer` then tells its seconds per step."""
        self._cell.sample()

    def teardown(self, *values: Any) -> None:
        """asv's, after every sample: keeps the run record; after the last one ends the worker."""
        self._cell.settle()

    def timer(self) -> float:
        """asv's clock: grows by the median step time of each sample, as the worker measured it."""
        return self._cell.clock_s

    @classmethod
    def key(cls, *values: Any) -> CellKey:
        """What the record of a cell says of it for the tables: see `CellKey`."""
        about = inspect.getdoc(sys.modules[cls.__module__]) or cls.__module__.rpartition(".")[2]
        baseline = cls.baseline(*values)
        return CellKey(
            suite=cls.__name__,
            values=values,
            param_names=tuple(cls.param_names),
            area=" ".join(about.split()),
            description=" ".join((inspect.getdoc(cls) or "").split()),
            baseline=None if baseline is None else cell_name(baseline),
            index=cls.cells().index(values),
        )


def _lists(values: Iterable[Any]) -> list[list[Any]]:
    """The values of each variable: a tuple of tuples has those of several."""
    each = tuple(values)
    several = bool(each) and all(isinstance(some, tuple) for some in each)
    return [list(some) for some in each] if several else [list(each)]
