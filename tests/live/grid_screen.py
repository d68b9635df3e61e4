"""Cells of a grid beside a reference, a few pairs of blocks each: for choosing, not for telling."""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cputrain.analysis.tuning import halving
from cputrain.experiment import Experiment
from cputrain.run.failed import CellFailed
from cputrain.sweep.tuning import reduced
from cputrain.sweep.tuning.workers import Running, Workers, reference
from cputrain.worker import blocks

PER_REFERENCE = 20
"""Cells beside the same worker of a reference."""
TRIES = 2
"""Pairs taken at most over those that are wanted: what others disturbed does not count."""
SPARE = 3.0
"""A worker may take so many times the seconds that are guessed for its start."""
LEAST_S = 60.0
"""And so many more."""


@dataclass(frozen=True)
class Screened:
    """What a cell gave.

    Attributes:
        log_ratios: of its pairs that count, the logarithm of its step over the reference's.
        reason: why there is none.
    """

    log_ratios: list[float] = field(default_factory=list)
    reason: str = ""

    @property
    def value(self) -> float | None:
        """The median of its log ratios."""
        return statistics.median(self.log_ratios) if self.log_ratios else None


class Screen:
    """Takes pairs of cells, each a fresh worker, beside a fresh reference for every few of them.

    Args:
        workers: where they come from.
        pairs: of each cell; of one that is slower than 1.5x in its first pair there is no other.
        seed: says who runs first.
    """

    def __init__(self, workers: Workers, pairs: int, seed: int) -> None:
        self._workers, self._wanted, self._seed, self._cells = workers, pairs, seed, 0

    def take(self, beside: Experiment, cells: Sequence[Experiment]) -> Iterator[Screened]:
        """What each cell gave, in their order.

        Args:
            beside: the reference.
            cells: all as they run.

        Raises:
            RunError: the reference gave no number.
        """
        for start in range(0, len(cells), PER_REFERENCE):
            running = reference(self._workers, beside, within_s(beside), "the reference")
            for cell in cells[start : start + PER_REFERENCE]:
                yield self._cell(cell, running)
            self._end(running)

    def _cell(self, cell: Experiment, beside: Running) -> Screened:
        self._cells += 1
        running = None
        try:
            running = self._workers.start(cell, within_s(cell))
            pairs = self._pairs(running, beside)
        except CellFailed as failure:
            return Screened(reason=f"{failure.status}: {failure.reason}")
        finally:
            if running is not None:
                self._end(running)
        return Screened(pairs, "" if pairs else "others had the CPUs during every pair")

    def _end(self, worker: Running) -> None:
        with contextlib.suppress(CellFailed):  # it is gone already
            self._workers.end(worker)

    def _pairs(self, cell: Running, beside: Running) -> list[float]:
        ratios: list[float] = []
        for number in range(TRIES * self._wanted):
            order = blocks.order(f"{self._seed} {self._cells}", number)
            taken = {
                side: self._workers.block(cell if side == "cell" else beside) for side in order
            }
            own, other = taken["cell"], taken["reference"]
            if own.is_spoilt_beside(other) or other.is_spoilt_beside(own):
                continue
            ratios.append(math.log(own.median_s / other.median_s))
            if ratios[0] > halving.FAR or len(ratios) == self._wanted:
                break
        return ratios


def within_s(experiment: Experiment) -> float:
    """Seconds that a worker has to be warm."""
    return LEAST_S + SPARE * reduced.start_s(experiment)


def expected_s(beside: Experiment, cells: Sequence[Experiment], pairs: int) -> float:
    """A guess at the seconds of cells beside a reference, knowing nothing of the machine."""
    references = math.ceil(len(cells) / PER_REFERENCE)
    starts = references * reduced.start_s(beside) + sum(map(reduced.start_s, cells))
    return starts + pairs * sum(_block_s(cell) + _block_s(beside) for cell in cells)


def _block_s(experiment: Experiment) -> float:
    run = experiment.budget.micro_batches or experiment.training.grad_accum
    return max(blocks.BLOCK_S, run * reduced.micro_s(experiment))
