"""The asv base class of every suite: values -> experiments -> workers -> the worker's clock.

A suite declares `values` and `vary`; its docstring is its description everywhere. asv
runs setup and teardown around every sample, in one process for each cell and round: the
worker starts with the first sample, lives on `self`, and ends with the last one.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any, ClassVar

from cputrain.experiment import PART_OF, Experiment, ExperimentError
from cputrain.machine.parent import die_with_parent
from cputrain.model import flops
from cputrain.run import placement, stacks
from cputrain.run.cell import CellRun
from cputrain.run.session import Session


class Suite:
    """One variable. Subclasses give `values` and `vary`, and nothing else.

    Attributes:
        values: the values of the variable, the same on every machine; for several
            variables, a tuple of tuples.
        name: asv's parameter name, or names; left out, it is the field that `vary` changes.
        version: raise it by hand when what is measured changes.
    """

    values: ClassVar[tuple[Any, ...]] = ()
    name: ClassVar[str | tuple[str, ...]] = ""
    version = "1"

    params: ClassVar[list[list[Any]]] = []
    param_names: ClassVar[list[str]] = []
    unit = "seconds"
    number = 1
    rounds = 2
    repeat = Experiment().budget.samples
    min_run_count = 1
    warmup_time = 0.0
    timeout = 1800.0

    def __init_subclass__(cls) -> None:
        several = bool(cls.values) and all(isinstance(v, tuple) for v in cls.values)
        cls.params = [list(v) for v in cls.values] if several else [list(cls.values)]
        cls.repeat = cls.base().budget.samples
        names = (cls.name,) if isinstance(cls.name, str) else cls.name
        cls.param_names = list(names) if all(names) else [cls._varied_field()]

    @classmethod
    def _varied_field(cls) -> str:
        """The one field that `vary` changes, or the class's name in small letters."""
        base = cls.base().flat()
        changed = {
            name
            for value in cls.values
            for name, now in cls()._varied(value).flat().items()
            if now != base[name] and PART_OF[name] != "budget"
        }
        in_words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        return changed.pop() if len(changed) == 1 else in_words

    @classmethod
    def base(cls) -> Experiment:
        """The baseline that this suite varies."""
        return Experiment()

    def vary(self, base: Experiment, *values: Any) -> Experiment:
        """The experiment of one value. Suites say this."""
        raise NotImplementedError

    @classmethod
    def cells(cls) -> list[tuple[Any, ...]]:
        """Every cell: one tuple of values for each, in asv's order."""
        return list(product(*cls.params))

    def experiment(self, *values: Any) -> Experiment:
        """What a cell runs; heavy ones take fewer steps, by their FLOPs over the default's.

        Raises:
            ExperimentError: a value that cannot be, with the suite's name.
        """
        base, varied = self.base(), self._varied(*values)
        if varied.budget != base.budget:
            return varied
        work = flops.flops_per_step(varied).total / flops.flops_per_step(Experiment()).total
        steps = min(base.budget.steps, max(1, round(base.budget.steps / work)))
        return varied.but(steps=steps)

    def _varied(self, *values: Any) -> Experiment:
        """What `vary` says. Its steps are not settled: that takes a count of FLOPs."""
        try:
            return self.vary(self.base(), *values)
        except ExperimentError as error:
            value = ", ".join(map(repr, values))
            raise ExperimentError(f"{type(self).__name__}({value}): {error}") from None

    def setup(self, *values: Any) -> None:
        """asv's, before every sample: raises NotImplementedError where this machine can't."""
        if hasattr(self, "_cell"):
            return
        if Session.from_env().driven:
            die_with_parent()  # asv's processes outlive asv otherwise, and go on measuring
        first = self.cells()[0]
        self._cell = CellRun(type(self).__name__, values, self.experiment(*values), start=first)
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
