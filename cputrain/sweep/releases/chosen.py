"""Which cells two releases or commits are compared on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cputrain.engines import specs
from cputrain.errors import UsageError
from cputrain.experiment import Experiment
from cputrain.record.cell import CellKey
from cputrain.run import stacks
from cputrain.sweep import choice, plan
from cputrain.sweep.releases.requirements import plain

USUAL = (
    r"\.Framework\.",
    r"\.FrameworkLarger\.",
    r"\.AttentionBackend\.",
    r"\.SeqLen\..*\(1024",
    r"\.Precision\..*\('bf16",
    r"\.OptimizerKernel\..*default",
    r"\.TorchCompile\..*inductor",
)
"""Cells that are taken where nobody names any: each engine as it is fastest on the baseline and on
a larger model, and of the ways that a step's time goes those that releases have changed."""


@dataclass(frozen=True)
class ChosenCell:
    """A cell that is compared.

    Attributes:
        key: what it is called; the reference side's.
        experiments: what each side runs, settled.
    """

    key: CellKey
    experiments: tuple[Experiment, ...]

    @property
    def name(self) -> str:
        """Suite and cell."""
        return f"{self.key.suite}/{self.key.name}"

    @property
    def engine(self) -> str:
        """What trains, on the reference side."""
        return self.experiments[0].runtime.engine


@dataclass(frozen=True)
class Chosen:
    """What is compared, and what was named and cannot be, with the reasons."""

    cells: tuple[ChosenCell, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def touched(packages: Collection[str]) -> tuple[str, ...]:
    """The engines that compute with some packages; all where a package is of no engine alone."""
    names = {plain(name) for name in packages}
    of_engines = {name: {*map(plain, specs.of(name).packages)} for name in specs.NAMES}
    if not names or not names <= set().union(*of_engines.values()):
        return specs.NAMES
    return tuple(name for name, own in of_engines.items() if own & names)


def suites(known: Sequence[plan.Planned], regexes: Sequence[str] | None) -> list[plan.Planned]:
    """The cells that were named, as `run` takes them, or the usual ones. Raises UsageError."""
    return choice.choose(known, regexes or USUAL, quick=False)


def why_not(experiment: Experiment) -> str | None:
    """Why workers of two sides cannot take turns on an experiment; None where they can."""
    if stacks.of(experiment) != stacks.MAIN:
        return "it runs in IPEX's environment, which --stack and --git do not change"
    if experiment.runtime.jit_state != "steady":
        return "a first step is there once: it cannot take turns"
    if experiment.training.fine_tuning != "scratch":
        return "it starts from a model that the suite's other cells leave"
    return None


def chosen(
    planned: Sequence[plan.Planned], sides: int, engines: Collection[str], is_named: bool
) -> Chosen:
    """The cells for sides that run the same code, each experiment once.

    Args:
        planned: suites with the cells that were named.
        sides: how many there are.
        engines: that are touched; cells of others are left out.
        is_named: whether somebody named the cells, and is told why one cannot be.

    Raises:
        UsageError: none is left.
    """
    cells: dict[str, ChosenCell] = {}
    left_out: dict[str, str] = {}
    for suite in planned:
        for cell in suite.cells:
            experiment = specs.settle(cell.experiment)
            reason = cell.why_not or why_not(experiment)
            if reason is None and experiment.runtime.engine not in engines:
                reason = f"it runs on {experiment.runtime.engine}, which these packages are not of"
            if reason is not None:
                left_out[f"{suite.name}/{cell.name}"] = reason
            else:
                key = suite.suite.key(*cell.values)
                cells.setdefault(experiment.identity, ChosenCell(key, (experiment,) * sides))
    if not cells:
        raise UsageError(_none(left_out))
    return Chosen(tuple(cells.values()), left_out if is_named else {})


def only(planned: Sequence[plan.Planned], cells: Sequence[ChosenCell]) -> list[plan.Planned]:
    """Of some suites what the chosen cells run: what has to be prepared."""
    kept = {experiment.identity for cell in cells for experiment in cell.experiments}
    return [
        replace(
            suite,
            cells=tuple(c for c in suite.cells if specs.settle(c.experiment).identity in kept),
        )
        for suite in planned
    ]


def _none(left_out: Mapping[str, str]) -> str:
    cell, reason = next(iter(left_out.items()))
    more = f" ({len(left_out) - 1} others likewise)" if len(left_out) > 1 else ""
    return f"--bench names no cell that can be compared: {cell}: {reason}{more}"
