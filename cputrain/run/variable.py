"""A variable: its values, the engines that it is measured on, and the experiment of each cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

from cputrain import paths
from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError

Values = tuple[Any, ...]
"""One value of each parameter of a suite."""


class Variable:
    """One thing that is varied; `run.suite` says how asv measures it.

    Attributes:
        values: the values of the variable, the same on every machine; for several
            variables, a tuple of tuples.
        engines: the engines beside torch that the variable is measured on, and some of `values`
            for each. The engine is then the suite's last parameter. Without any, the suite is
            about one engine, that of `base`, and has no such parameter.
        params: the values of each parameter, the engines last where there are several.
    """

    values: ClassVar[Values] = ()
    engines: ClassVar[dict[str, Values]] = {}
    params: ClassVar[list[list[Any]]] = []

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
    def by_engine(cls) -> dict[str, Values]:
        """The values of each engine, torch's first."""
        return {specs.FIRST: cls.values, **cls.engines}

    @classmethod
    def cells(cls) -> list[Values]:
        """Every cell that is declared: one tuple of values for each, in asv's order.

        Raises:
            ExperimentError: `engines` names a value that is none of `values`; or a cell has no
                folder of its own, by its name.
        """
        every = list(product(*cls.params))
        cls._require_names(every)
        if not cls.engines:
            return every
        declared = [
            (*values, engine)
            for engine, engine_values in cls.by_engine().items()
            for values in product(*lists(engine_values))
        ]
        for *values, engine in declared:
            if (*values, engine) not in every:
                value = ", ".join(map(repr, values))
                raise ExperimentError(f"{cls.__name__}.engines[{engine!r}]: {value} is no value")
        return [cell for cell in every if cell in declared]

    @classmethod
    def _require_names(cls, cells: Iterable[Values]) -> None:
        """Raise ExperimentError where two cells have one name, or one has none for a folder."""
        named: dict[str, str] = {}
        for cell in cells:
            values = cell[:-1] if cls.engines else cell
            shown = repr(values[0] if len(values) == 1 else values)
            name = paths.cell_name(cell)
            if name in ("", ".", ".."):
                why = f"value {shown} has the name {name!r}, which no folder can have: rename it"
                raise ExperimentError(f"{cls.__name__}: {why}")
            if name in named:
                both = f"values {named[name]} and {shown} have one name in the tables"
                raise ExperimentError(f"{cls.__name__}: {both}, {name}: rename one")
            named[name] = shown

    @classmethod
    def cells_like(cls, *values: Any) -> list[Values]:
        """The cells on the same engine as this one's, in asv's order."""
        return [c for c in cls.cells() if not cls.engines or c[-1] == values[-1]]

    @classmethod
    def baseline(cls, *values: Any) -> Values | None:
        """The cell that this one is compared with: the first of its engine that runs the baseline.

        However many steps that takes; None where no cell does.
        """
        own = cls()
        like = cls.cells_like(*values)
        return next((cell for cell in like if is_baseline(*own.experiments(*cell))), None)

    def experiment(self, *values: Any) -> Experiment:
        """What a cell runs, settled, with as many samples as asv asks for: those of `base`.

        Raises:
            ExperimentError: a value that cannot be, with the suite's name.
        """
        return self.experiments(*values)[1].but(samples=self.base().budget.samples)

    def reference(self, *values: Any) -> Experiment | None:
        """What a cell is measured beside: its baseline, settled; None where no cell is that."""
        return None if self.baseline(*values) is None else self.experiments(*values)[0]

    def experiments(self, *values: Any) -> tuple[Experiment, Experiment]:
        """The cell's baseline and what `vary` makes of it."""
        varied, engine = (values[:-1], values[-1]) if self.engines else (values, None)
        try:
            base = self.base() if engine is None else self.base_on(engine)
            return specs.settle(base), specs.settle(self.vary(base, *varied))
        except ExperimentError as error:
            value = ", ".join(map(repr, values))
            raise ExperimentError(f"{type(self).__name__}({value}): {error}") from None


def is_baseline(base: Experiment, varied: Experiment) -> bool:
    """Whether a cell runs its baseline, see `Variable.experiments`; the budget is no part of it."""
    return replace(varied, budget=base.budget) == base


def lists(values: Iterable[Any]) -> list[list[Any]]:
    """The values of each variable: a tuple of tuples has those of several."""
    each = tuple(values)
    several = bool(each) and all(isinstance(item, tuple) for item in each)
    return [list(item) for item in each] if several else [list(each)]
