"""Passes of a worker beside a reference, by the production code of workers, blocks and pairs."""

from __future__ import annotations

import contextlib
import math
import operator
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lease_here import LeaseHere
from roots import take_root

from cputrain.analysis.paired.model import Pass
from cputrain.experiment import Experiment
from cputrain.record.noise import was_moved
from cputrain.record.requests import WorkerRequest
from cputrain.record.sample import Sample, compared_s, spoilt_sides
from cputrain.run.conductor.protocol import (
    End,
    Ended,
    Refer,
    Start,
    Started,
    Take,
    Taken,
)
from cputrain.worker import blocks
from cputrain.worker.blocks import Side


@dataclass(frozen=True)
class Measured:
    """One pass.

    Attributes:
        kept: its pairs that count; None where all were dropped.
        dropped: pairs, those that were taken again too.
        steps: of a block of the cell.
        step_s: of the cell, the median over its blocks.
        forked: the sides whose process was forked, and no fresh interpreter.
    """

    kept: Pass | None
    dropped: int
    steps: int
    step_s: float
    forked: frozenset[Side]


class Bench:
    """Starts workers and lets them run in turns, in a folder of its own.

    Args:
        folder: for data, models and compiled code.
    """

    def __init__(self, folder: Path) -> None:
        self._lease = LeaseHere()
        self._compiled = str(folder / "compiled")
        self._request = WorkerRequest(folder=str(folder / "m"), offline=True, model_cap_bytes=1)
        self.passes = 0

    def start(self, experiment: Experiment, fresh: bool = False) -> Started:
        """A warm worker, stopped; one that compiles finds what an earlier one has compiled.

        Args:
            fresh: as an interpreter of its own, where it could be forked too.
        """
        words = {"run": "study", "experiment": experiment.to_json(), "request": self._request}
        code = None if experiment.runtime.compile == "eager" else self._compiled
        ask = Start(**words, compiled=code, keep=code is not None, fresh=fresh)
        return self._lease.ask(ask, Started)

    def refer(self, experiment: Experiment, fresh: bool = False) -> Started:
        """A warm reference that has proven that it trains; `fresh` as of `start`."""
        words = {"run": "study", "experiment": experiment.to_json(), "request": self._request}
        code = None if experiment.runtime.compile == "eager" else self._compiled
        return self._lease.ask(Refer(**words, compiled=code, fresh=fresh), Started)

    def block(self, worker: Started, beside: bool = True) -> Sample:
        """A block of a worker's steps."""
        return self._lease.ask(Take(worker=worker.worker, beside=beside), Taken).sampled.sample

    def end(self, worker: Started) -> None:
        """End a worker."""
        self._lease.ask(End(worker=worker.worker), Ended)

    def close(self) -> None:
        """End all."""
        self._lease.close()

    def measure(
        self, cell: Experiment, reference: Experiment, pairs: int, fresh: Side | None = None
    ) -> Measured:
        """A pass: a new worker beside a new reference.

        Args:
            fresh: the side that is an interpreter of its own, where it could be forked too.
        """
        beside = self.refer(reference, fresh=fresh == "reference")
        worker = self.start(cell, fresh=fresh == "cell")
        self.passes += 1
        own, others, spoilt = [], [], 0
        while len(own) < pairs:
            taken = {}
            for side in blocks.order(str(self.passes), len(own) + spoilt):
                taken[side] = self.block(worker if side == "cell" else beside)
            mine, other = taken["cell"], taken["reference"]
            takes_s = sum(mine.step_s) + sum(other.step_s)
            good = sum(not any(spoilt_sides(*both)) for both in zip(own, others, strict=True))
            missing = good + pairs - len(own) - 1 < blocks.FEWEST_PAIRS
            lacks = missing and was_moved(mine.noise, other.noise)
            again = blocks.may_be_again(spoilt, pairs, takes_s, lacks)
            if again and any(spoilt_sides(mine, other)):
                spoilt += 1
                continue
            own.append(mine)
            others.append(other)
        self.end(worker)
        self.end(beside)
        ratios = [
            math.log(operator.truediv(*compared_s(mine, other)))
            for mine, other in zip(own, others, strict=True)
            if not any(spoilt_sides(mine, other))
        ]
        return Measured(
            Pass(tuple(ratios)) if ratios else None,
            pairs - len(ratios) + spoilt,
            len(own[0].step_s),
            statistics.median(sample.median_s for sample in own),
            frozenset(
                side
                for side, started in (("cell", worker), ("reference", beside))
                if started.forked
            ),
        )


@contextlib.contextmanager
def bench() -> Iterator[Bench]:
    """A bench in a temporary folder, which everything below sees as the project's results."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        take_root(patch, Path(name))
        made = Bench(Path(name))
        try:
            yield made
        finally:
            made.close()
