"""Which engines run beside torch, on which shapes and how many cores, and in which order.

Shapes and experiments are those of the suites named in `SHAPES`. Standard library only.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cputrain.engines import specs
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.run import placement, stacks
from cputrain.run.names import FIRST, INDUCTOR
from cputrain.sweep import plan

SHAPES = ("Framework", "FrameworkLarger")
"""The suites whose values are engines; each is one shape."""

T = TypeVar("T")

VARIANTS: dict[str, tuple[str, Mapping[str, Any]]] = {
    label: (name, changes)
    for name in specs.NAMES
    for label, changes in specs.of(name).variants.items()
}
"""What runs beside the suites' own values: the value that it is a variant of, and the changes."""


@dataclass(frozen=True)
class PlannedTurn:
    """One worker's place in the run.

    Attributes:
        round: of how many-eth fresh worker of its cell, from 1.
        place: in the whole run, from 1.
        reference: what runs beside it: torch of its block.
    """

    round: int
    place: int
    cell: plan.PlannedCell
    reference: Experiment

    @property
    def block(self) -> tuple[int, str, int]:
        """Round, shape and threads: turns with the same ones have one reference."""
        shape, _, threads = self.cell.values
        return self.round, shape, threads


def blocks(suites: Sequence[plan.Planned], inductor: bool) -> list[plan.Planned]:
    """One for each shape and number of cores: what is compared with one another.

    A cell's values are shape, engine and threads. One core, then all of them; where they are
    the same, once.

    Args:
        suites: all of them.
        inductor: also torch through inductor, which compiles in every worker.

    Raises:
        UsageError: a suite of `SHAPES` is not there, or has no torch.
    """
    by_shape: dict[tuple[str, int], plan.Planned] = {}
    for name in SHAPES:
        shape = next((planned for planned in suites if planned.name == name), None)
        if shape is None:
            raise UsageError(f"there is no suite {name}, whose values are the engines")
        engines = _engines(shape, inductor)
        for cores in (1, None):
            cells = [_cell(name, label, e.but(cores=cores)) for label, e in engines.items()]
            threads = cells[0].values[-1]
            by_shape.setdefault((name, threads), replace(shape, cells=tuple(cells)))
    return list(by_shape.values())


def _engines(shape: plan.Planned, inductor: bool) -> dict[str, Experiment]:
    """The suite's values and their variants, each after what it is a variant of."""
    values = {cell.name: cell.experiment for cell in shape.cells}
    if FIRST not in values:
        raise UsageError(f"the suite {shape.name} has no value {FIRST!r} to compare with")
    experiments = {}
    for value, experiment in values.items():
        experiments[value] = experiment
        for label, (usual, changes) in VARIANTS.items():
            if usual == value and (inductor or label != INDUCTOR):
                try:
                    experiments[label] = specs.settle(experiment.but(**changes))
                except ExperimentError as error:
                    raise UsageError(f"the suite {shape.name}, {label}: {error}") from None
    return experiments


def _cell(shape: str, label: str, experiment: Experiment) -> plan.PlannedCell:
    threads = placement.place(experiment).threads
    why_not = placement.why_not(experiment, stacks.of(experiment))
    return plan.PlannedCell((shape, label, threads), experiment, why_not)


def turns(blocks: Sequence[plan.Planned], rounds: int, seed: int) -> Iterator[PlannedTurn]:
    """The run: in each round every cell once.

    Blocks come in a shuffled order, and so do the engines within one: nothing always comes first.
    """
    chance, place = random.Random(seed), 0
    for number in range(1, rounds + 1):
        for block in _shuffled(blocks, chance):
            reference = next(c.experiment for c in block.cells if c.values[1] == FIRST)
            for cell in _shuffled(block.cells, chance):
                place += 1
                yield PlannedTurn(number, place, cell, reference)


def _shuffled(items: Sequence[T], chance: random.Random) -> list[T]:
    return chance.sample(items, len(items))
