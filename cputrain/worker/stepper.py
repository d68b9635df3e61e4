"""Optimizer steps on the clock: which batches they take, how long each took, what it lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from cputrain.engines.accumulating import mean, weighed
from cputrain.engines.pass_clock import PassSeconds
from cputrain.experiment import Experiment
from cputrain.record.sample import RankSample
from cputrain.wording import counted
from cputrain.worker import timing

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.data.feed import Feed
    from cputrain.engines import Engine
    from cputrain.worker.step_delays import StepDelays


class Stepper:
    """Trains an engine on a feed's batches.

    With loader = "memory" a step's batches are there before its clock starts; a streaming
    loader is waited for on the clock. Where budget.micro_batches is less than grad_accum, a
    step runs that many micro-batches and the update, and its time is reckoned as
    grad_accum / micro_batches x their time + the update's. From a stream such a step takes its
    micro-batches one by one and weighs them alike, whatever targets they have.

    Args:
        experiment, engine, feed: what is trained, and on what.
        delays: reads what others held up; None where that cannot be told.

    Attributes:
        losses: of each step so far.
        training_s: seconds on the clock so far, as they were spent.
        waited_s: of these, spent waiting for a streaming loader.
        held_up_s: of the last steps: seconds that others held up each; empty without `delays`.
        passes: of the last steps, by step; empty where the engine sees no boundaries. Reckoned
            as the steps are.
        ranks: what each of several processes that train together says of the last steps.
    """

    def __init__(
        self,
        experiment: Experiment,
        engine: Engine,
        feed: Feed,
        delays: StepDelays | None = None,
    ) -> None:
        self._engine, self._feed, self._delays = engine, feed, delays
        self._whole = experiment.training.grad_accum
        self._run = experiment.budget.micro_batches or self._whole
        self._streams = experiment.training.loader == "stream"
        self.losses: list[float] = []
        self.training_s = 0.0
        self.ranks: list[RankSample] = []
        self.held_up_s: list[float] = []
        self.passes: list[PassSeconds] = []

    @property
    def waited_s(self) -> float:
        """Seconds that steps waited for data."""
        return self._feed.waited_s if self._streams else 0.0

    @property
    def composed(self) -> str | None:
        """What the step time is reckoned from, or None where whole steps are timed."""
        if self._run == self._whole:
            return None
        micro = counted(self._run, "micro-batch", "micro-batches")
        return f"sum of {micro} x {self._whole / self._run:g} and the update"

    def train(self, steps: int) -> list[float]:
        """Train `steps` steps on the next batches; the seconds of each.

        Raises:
            DidNotTrain: a batch does not have the targets that the objective says.
        """
        seen: list[Batch] = []
        step_s = []
        clock, self.passes = self._engine.pass_clock, []
        delays = self._delays
        if delays is not None:
            delays.begin()
        for _ in range(steps):
            batches = self._upcoming(seen)
            if not self._streams:
                batches = iter(list(islice(batches, self._run)))
            if clock is not None:
                clock.taken()  # what looks at the model have added
            if delays is not None:
                delays.before_step()
            start = time.perf_counter()
            if self._run < self._whole:
                step_s.append(self._composed(batches))
            else:
                step_s += timing.timed(partial(self._step, batches), 1)
            self.training_s += time.perf_counter() - start
            if delays is not None:
                delays.after_step()
            if clock is not None:
                self.passes.append(self._whole_step(clock.taken()))
        self.held_up_s = [] if delays is None else delays.taken()
        for batch in seen:
            self._feed.check(batch)
        return step_s

    def _whole_step(self, run: PassSeconds) -> PassSeconds:
        share = self._whole / self._run
        return PassSeconds(run.forward_s * share, run.backward_s * share, run.optimizer_s)

    def _upcoming(self, seen: list[Batch]) -> Iterator[Batch]:
        while True:
            seen.append(self._feed.next())
            yield seen[-1]

    def _step(self, batches: Iterator[Batch]) -> None:
        self.losses.append(self._engine.train_step(*islice(batches, self._run)))
        self._engine.synchronize()

    def _composed(self, batches: Iterator[Batch]) -> float:
        """A step of which only some micro-batches are run: its reckoned seconds."""
        pairs = ((batch, 1 / self._run) for batch in batches)
        if not self._streams:
            pairs = (pair for pair in weighed(list(batches)))
        lost: list[float] = []
        shares: list[float] = []

        def micro() -> None:
            batch, share = next(pairs)
            lost.append(self._engine.accumulate(batch, share))
            shares.append(share)
            self._engine.synchronize()

        def update() -> None:
            self._engine.update()
            self._engine.synchronize()

        micro_s = timing.timed(micro, self._run)
        update_s = timing.timed(update, 1)
        self.losses.append(mean(lost, shares))
        return sum(micro_s) * self._whole / self._run + update_s[0]
