"""A worker whose steps are watched part by part: as `worker.job`, but for what a sample is.

`python -m cputrain.worker.parts DESCRIPTOR`, the same words and answers; a sample answers
`WatchedSteps`.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from msgspec import structs

from cputrain.engines.parts import Times, watcher
from cputrain.model.parts import NAMES, by_part
from cputrain.record.answers import Watched
from cputrain.record.noise import Noise
from cputrain.record.part import readings
from cputrain.record.requests import SampleCommand
from cputrain.record.sample import Sample
from cputrain.record.watched import PartTimes, WatchedSteps
from cputrain.worker import gates, job, serving
from cputrain.worker.sampling import pause_s, queued
from cputrain.worker.watch import Watch

MOST_STEPS, FEWEST_STEPS = 15, 5
ABOUT_S = 4.0
"""Seconds of plain steps, about; as many are watched."""
BATCHES = 20
"""Micro-batches that are taken to time one."""


class PartsJob(job.Job):
    """Takes a plain step and a watched one in turns: what the machine does meanwhile is in both."""

    def sample(self, command: SampleCommand) -> None:
        """Steps of both kinds; answers with them."""
        watching = watcher(self.engine)
        dispatch_s = watching.dispatch_s()
        self._watched(watching)  # the first profile of a process costs more
        about = self.warm_step_s or ABOUT_S
        steps = max(FEWEST_STEPS, min(MOST_STEPS, round(ABOUT_S / about)))
        sample, watched = self._in_turns(watching, steps)
        self.say(
            Watched(
                sample=sample,
                watched=WatchedSteps(
                    step_s=[times.wall_s for times in watched],
                    parts=self._parts(watched),
                    how=watching.how,
                    unseen=watching.unseen,
                    tolerance=watching.tolerance,
                    dispatch_s=None if isinstance(dispatch_s, str) else dispatch_s,
                    no_dispatch=dispatch_s if isinstance(dispatch_s, str) else None,
                    beside={"taking a batch": self._batch_s()},
                ),
                peak=self.peak_memory(),
                so_far=self.so_far(),
            )
        )

    def _in_turns(self, watching: Any, steps: int) -> tuple[Sample, list[Times]]:
        """The calmest of some tries; an undisturbed one is the last."""
        best = self._once(watching, steps)
        for tries in range(2, self.experiment.budget.tries + 1):
            if not best[0].disturbed:
                break
            time.sleep(pause_s(tries - 1))
            other = self._once(watching, steps)
            if not other[0].disturbed or queued(other[0]) < queued(best[0]):
                best = other
            best = structs.replace(best[0], tries=tries), best[1]
        return best

    def _once(self, watching: Any, steps: int) -> tuple[Sample, list[Times]]:
        before = Watch(self.experiment, self.placement, self.feed)
        start = len(self.stepper.losses)
        plain, watched = [], []
        for _ in range(steps):
            plain += self.stepper.train(1)
            watched.append(self._watched(watching))
        seen, _ = before.seen()
        gates.steps(len(self.stepper.losses), self.engine.steps_done)
        gates.finite(self.stepper.losses)
        sample = Sample(
            step_s=plain,
            loss=self.stepper.losses[start::2],
            disturbed=seen.pop("disturbed"),
            noise=readings(Noise, seen),
        )
        return sample, watched

    def _watched(self, watching: Any) -> Times:
        """One watched step, on the stepper's next batch."""
        seen: list[Times] = []
        honest = self.engine.train_step

        def watched(*batches: Any) -> float:
            lost: list[float] = []

            def whole() -> None:
                lost.append(honest(*batches))
                self.engine.synchronize()

            seen.append(watching.step(whole))
            return lost[0]

        self.engine.train_step = watched  # type: ignore[method-assign]
        try:
            self.stepper.train(1)
        finally:
            del self.engine.train_step
        return seen[0]

    def _parts(self, watched: list[Times]) -> dict[str, PartTimes]:
        works = by_part(self.experiment)
        # The clock around a step is read a moment after the last part's.
        return {
            name: PartTimes(
                seconds=[max(0.0, times.seconds.get(name, 0.0)) for times in watched],
                calls=round(statistics.median(times.calls.get(name, 0) for times in watched)),
                flops=works[name].flops,
                bytes=works[name].bytes,
            )
            for name in NAMES
        }

    def _batch_s(self) -> float:
        """Seconds of taking a micro-batch from the feed, which is off a step's clock; median."""
        seconds = []
        for _ in range(BATCHES):
            start = time.perf_counter()
            self.feed.next()
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)


if __name__ == "__main__":
    serving.leave(lambda: job.main(PartsJob))
