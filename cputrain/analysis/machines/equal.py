"""Equal experiments of two machines: the same cell of a suite, the same setting, the same work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow
from cputrain.analysis.machines.usual import identity
from cputrain.record.worker import WorkerRecord
from cputrain.results.rows import CellResult

WORK = ("n_params", "n_trained", "tokens_per_step", "flops_formula")
"""Counts of a step that are equal where the same is trained."""


@dataclass(frozen=True)
class Equal:
    """One experiment that both machines have a number of.

    Attributes:
        first, other: the cell on each machine, with its row.
        repeats: whether an earlier one has the same workers on both.
    """

    first: CellRow
    other: CellRow
    repeats: bool

    @property
    def suite(self) -> str:
        """The suite's name."""
        return self.first[0].suite

    @property
    def value(self) -> str:
        """The cell's name."""
        return self.first[0].value

    @property
    def engine(self) -> str:
        """What trains in it."""
        return identical.engine(self.first[0]) or ""

    @property
    def is_first_step(self) -> bool:
        """Whether its time is that of a first step, which compiles and is there once."""
        return self.first[1]["jit_state"] not in (None, "steady")

    @property
    def counts(self) -> bool:
        """Whether its suite's ratio has it: the time of a usual step, each that ran once."""
        return not (self.repeats or self.is_first_step)

    @property
    def identity(self) -> str:
        """Of the experiment."""
        return identity(self.first[0].workers[-1])


def equal(first: Sequence[CellRow], other: Sequence[CellRow]) -> tuple[list[Equal], int]:
    """The equal experiments, A/A first, then suite by suite; and how many cells of one name differ.

    Args:
        first, other: the cells of each machine.
    """
    theirs = {cell.name: (cell, row) for cell, row in other if _has_number(cell)}
    pairs: list[Equal] = []
    differing = 0
    seen: set[tuple[object, ...]] = set()
    for cell, row in sorted(first, key=lambda pair: pair[0].suite != identical.SUITE):
        if not _has_number(cell) or cell.name not in theirs:
            continue
        beside = theirs[cell.name]
        if not is_equal(cell.workers[-1], beside[0].workers[-1]):
            differing += 1
            continue
        ran = tuple(identical.what_ran(w) for w in (*cell.workers, *beside[0].workers))
        pairs.append(Equal((cell, row), beside, ran in seen))
        seen.add(ran)
    return pairs, differing


def is_equal(first: WorkerRecord, other: WorkerRecord) -> bool:
    """Whether two workers ran the same experiment, and a step was the same work."""
    counts = [worker.counts for worker in (first, other)]
    same_work = None not in counts and all(
        getattr(counts[0], name) == getattr(counts[1], name) for name in WORK
    )
    return same_work and identity(first) == identity(other)


def _has_number(cell: CellResult) -> bool:
    return bool(cell.ok and cell.workers and cell.step_s)
