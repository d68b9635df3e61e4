"""One sample: timed steps with what else went on meanwhile, repeated while others disturb it."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import msgspec

from cputrain.engines.pass_clock import PassSeconds
from cputrain.experiment import Experiment
from cputrain.knobs import inforce
from cputrain.machine import clock, energy, one_core, round_trip, two_cpus
from cputrain.record.noise import Noise
from cputrain.record.part import readings
from cputrain.record.process import Placement
from cputrain.record.proof import Check
from cputrain.record.sample import Sample
from cputrain.worker.watch import Watch

if TYPE_CHECKING:
    from cputrain.data.feed import Feed
    from cputrain.worker.stepper import Stepper

AGAIN_S = 2.0
"""A sample that takes longer is not repeated: on a shared host the next one is disturbed too."""
PAUSES_S = (1.0, 4.0)
"""Waits before a sample is repeated, so that a short disturbance is over by then; the last is
that of all further ones."""


class Sampler:
    """Takes the samples of one worker."""

    def __init__(
        self, experiment: Experiment, placement: Placement, stepper: Stepper, feed: Feed
    ) -> None:
        self._experiment, self._placement = experiment, placement
        self._stepper, self._feed = stepper, feed
        self._steady = experiment.runtime.jit_state == "steady"
        self._clock_known = False

    def take(
        self, steps: int, discard: int = 0, most_tries: int = 1, warm_step_s: float | None = None
    ) -> Sample:
        """The calmest of some tries; an undisturbed one is the last.

        Args:
            steps: to time.
            discard: steps before them, off the clock: the first ones after the process was stopped
                are slow.
            most_tries: none is repeated where others are compared with it, as the next second
                is another one.
            warm_step_s: of the fastest step of the warm-up; None without one.

        Raises:
            NotInForce: a thread left the mask, or others than asked computed.
        """
        best: Sample | None = None
        for tries in range(1, most_tries + 1):
            sample, busy = self._once(steps, discard, warm_step_s)
            if best is None or not sample.disturbed or queued(sample) < queued(best):
                best = sample
            if not sample.disturbed or not self._steady:  # a first step is there once only
                break
            if tries < most_tries:
                time.sleep(pause_s(tries))
        assert best is not None
        checks = [inforce.thread_masks(list(self._placement.cpus))]
        # `busy` is of the last try: threads do not come and go between tries. In a first step
        # there are the compiler's beside those that compute.
        if self._steady:
            checks.append(busy)
        inforce.require(checks)
        return msgspec.structs.replace(best, tries=tries)

    def _once(self, steps: int, discard: int, warm_step_s: float | None) -> tuple[Sample, Check]:
        """One try, and whether the right threads worked in it."""
        place = self._place("before")
        discarded_s = sum(self._stepper.train(discard)) if discard else 0.0
        joules, waited = energy.read(), self._stepper.waited_s
        watch = Watch(self._experiment, self._placement, self._feed)
        step_s = self._stepper.train(steps)
        seen, busy = watch.seen()
        ranks = self._stepper.ranks
        disturbed = [seen.pop("disturbed"), *(rank.noise.disturbed for rank in ranks)]
        seen |= energy.between(joules, energy.read())
        seen |= place | self._place("after")
        seen["round_trip_cpus"] = two_cpus.ends(self._placement.cpus)
        seen["expected_s"] = None if warm_step_s is None else steps * warm_step_s
        if not (discard and self._clock_known):  # it takes a tenth of a short block
            seen |= clock.reading()
            self._clock_known = True
        sample = Sample(
            step_s=step_s,
            held_up_s=self._stepper.held_up_s,
            discarded_s=discarded_s,
            loss=self._stepper.losses[-len(step_s) :],
            disturbed=any(disturbed),
            noise=readings(Noise, seen),
            busy=busy,
            waited_s=self._stepper.waited_s - waited,
            ranks=ranks,
        )
        return _with_passes(sample, self._stepper.passes), busy

    def _place(self, when: str) -> dict[str, Any]:
        """Readings of where its CPUs are, off the clock."""
        cpus = self._placement.cpus
        trip = two_cpus.reading(f"round_trip_{when}_ns", cpus, round_trip.between)
        return trip | two_cpus.reading(f"at_once_{when}", cpus, one_core.at_once)


def _with_passes(sample: Sample, by_step: list[PassSeconds]) -> Sample:
    """With the median of each pass over the steps, where the engine sees their boundaries."""
    if not by_step:
        return sample
    medians = map(statistics.median, zip(*by_step, strict=True))
    return msgspec.structs.replace(sample, **dict(zip(PassSeconds._fields, medians, strict=True)))


def pause_s(tries: int) -> float:
    """The wait after so many disturbed tries."""
    return PAUSES_S[min(tries, len(PAUSES_S)) - 1]


def queued(sample: Sample) -> float:
    """Share of the time that its threads waited for a CPU; 0 where the kernel does not say."""
    return sample.noise.run_queue_share or 0.0
