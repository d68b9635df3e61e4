"""The asv base class of every suite: its cells' workers, and the worker's clock as asv's.

A suite declares `values` and `vary`, and the engines beside torch that it has; its docstring is
its description everywhere. asv runs setup and teardown around every sample, in one process for
each cell and round: the worker starts with the first sample, lives on `self`, and ends with the
last one.
"""

from __future__ import annotations

import inspect
import re
import sys
from itertools import product
from typing import Any, ClassVar

from cputrain.experiment import PART_OF, Experiment, ExperimentError
from cputrain.machine.parent import die_with_parent
from cputrain.paths import cell_name
from cputrain.record.cell import CellKey
from cputrain.run import asv_server, asv_words, stacks
from cputrain.run.cell import CellRun
from cputrain.run.session import Session
from cputrain.run.variable import Values, Variable, lists

FORKED = sys.argv[1:2] == ["run_server"]
"""Whether this is asv's server, or the process of a cell, which is forked from it."""

if FORKED:
    die_with_parent()
    asv_server.wait_for_children()

ENGINE = "engine"
"""asv's name for the last parameter of a suite that runs on several engines."""


class Suite(Variable):
    """One variable. Subclasses give `values` and `vary`, often `engines`, and little else.

    Attributes:
        name: asv's parameter name, or names; left out, it is the field that `vary` changes.
        quick: those of `values` that `bench.py --quick` takes where nobody asks for the suite by
            name, on torch, or (value, engine); by name it takes the first, middle and last of
            each engine.
        late: whether a sweep takes it after the others: it is missed least where time is short.
        calibrates: whether `predict` rests on it: its long cells do not wait for other suites.
        measures_again: also cells that run what another cell of the session has run.
        version: raise it by hand when what is measured changes.
    """

    name: ClassVar[str | tuple[str, ...]] = ""
    quick: ClassVar[Values] = ()
    late: ClassVar[bool] = False
    calibrates: ClassVar[bool] = False
    measures_again: ClassVar[bool] = False
    version = "2"

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
        asv_words.give(cls, "time_train_steps")
        cls.params = lists(cls.values)
        if cls.engines:
            cls.params.append(list(cls.by_engine()))
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
            base, varied = (experiment.flat() for experiment in cls().experiments(*values))
            changed |= {n for n in base if varied[n] != base[n] and PART_OF[n] != "budget"}
        return changed.pop() if len(changed) == 1 else cls._in_words()

    @classmethod
    def _in_words(cls) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    def _of_this_pass(self, experiment: Experiment) -> Experiment:
        """With the samples that asv asks for: more of a cell that has its own pass again."""
        pairs = Session.from_env().pairs
        return experiment.but(samples=pairs[experiment.runtime.engine]) if pairs else experiment

    def setup(self, *values: Any) -> None:
        """asv's, before every sample: raises NotImplementedError where this machine can't.

        The first one has the worker warm, and says how many samples asv is to take.
        """
        if hasattr(self, "_cell"):
            return
        self.require_own_name()
        if FORKED:
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
        self._cell.refuse_where_it_cannot_run()
        self._cell.refuse_if(self._cell.why_no_start())
        self.repeat = self._cell.begin(fewer=not Session.from_env().pairs)

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
    def require_own_name(cls) -> None:
        """Raise ExperimentError where records of this name's folder would be others' too.

        Of other files it sees those that this process has imported. asv's server imports all before
        it forks a cell's process; with `--launch-method spawn` that has its own only.
        """
        if cls.__name__[0].islower():  # some scripts have no capitals, and no verb is in them
            rule = "a suite's name begins with a capital letter, unlike the folders of verbs"
            raise ExperimentError(f"{cls.__name__}: {rule}: rename it")
        package = cls.__module__.split(".")[0]
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] != package or name == cls.__module__:
                continue
            other = getattr(module, cls.__name__, None)
            if isinstance(other, type) and issubclass(other, Suite) and other.__module__ == name:
                file = f"{name.replace('.', '/')}.py"
                why = f"{file} has a suite of this name too, and records of both would mix"
                raise ExperimentError(f"{cls.__name__}: {why}: rename one")

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
