"""Races on a host that moves the CPUs: which blocks count, and how long a race waits for them."""

import pytest
from allocator_races import BEST, candidate, run
from msgspec import structs
from simulated_workers import Simulated

from cputrain.analysis.tuning import counting
from cputrain.record.noise import Noise
from cputrain.record.rounds import Blocks
from cputrain.report import tuned
from cputrain.sweep.tuning.race import STRICT_ROTATIONS
from cputrain.sweep.tuning.runner import NOTHING_COUNTS, Runner

pytestmark = pytest.mark.tools


class Moving(Simulated):
    """A host that moves the CPUs.

    Args:
        at: the place during a block: by its number, and by whether the reference runs.
        slower: how many times a block takes at a place, by whether the reference runs.
    """

    TRIPS = {"near": (84.0, 1.0), "far": (335.0, 1.0), "one core": (67.0, 1.75)}

    def __init__(self, *args, at, slower, **machine):
        super().__init__(*args, **machine)
        self.at, self.slower = at, slower

    def block(self, worker):
        is_reference = worker.experiment == BEST
        place = self.at(sum(w is worker for w in self.blocks), is_reference)
        sample = super().block(worker)
        trip_ns, at_once = self.TRIPS[place]
        noise = Noise(
            round_trip_before_ns=trip_ns,
            round_trip_after_ns=trip_ns,
            round_trip_cpus=[0, 1],
            at_once_before=at_once,
            at_once_after=at_once,
        )
        times = self.slower.get((place, is_reference), 1.0)
        return structs.replace(sample, step_s=[s * times for s in sample.step_s], noise=noise)


def test_blocks_on_one_core_end_no_candidate_and_are_taken_again():
    def at(number, is_reference):
        return "one core" if number < 2 and not is_reference else "near"

    slower = {("one core", False): 1.8}
    ran, _workers = run((0.9,), noise=0.01, host=Moving, at=at, slower=slower)
    (raced,) = ran.race.candidates
    assert raced.outcome == "adopted" and raced.not_counting == [0, 1] and not ran.race.all_count
    assert len(raced.log_ratios) == len(raced.step_s) - 2
    assert max(raced.log_ratios) < 0


def test_a_race_that_is_late_waits_for_blocks_that_count():
    def at(number, is_reference):
        return "one core" if number < 2 and not is_reference else "near"

    class Late(Moving):
        """The candidate is warm later than expected."""

        def start(self, experiment, within_s):
            self.seconds += 0.0 if experiment == BEST else 6.0
            return super().start(experiment, within_s)

    slower = {("one core", False): 1.2}
    late = {"step_s": 1.0, "until": 21.0}
    ran, _ = run((0.8,), noise=0.01, host=Late, at=at, slower=slower, **late)
    (raced,) = ran.race.candidates
    assert len(ran.race.order) == STRICT_ROTATIONS and raced.not_counting == [0, 1]
    assert raced.outcome == "adopted"


def test_only_blocks_where_the_cpus_mostly_were_are_compared():
    def at(number, is_reference):
        return "far" if number in (0, 3) else "near"

    # It is slower near; by the first four blocks together it would be faster.
    slower = {("far", True): 1.5}
    ran, _ = run((1.04,), noise=0.001, host=Moving, at=at, slower=slower)
    (raced,) = ran.race.candidates
    assert raced.outcome == "dropped" and raced.not_counting == [0, 3]
    assert len(raced.log_ratios) == len(raced.step_s) - 2 and min(raced.log_ratios) > 0


def test_a_race_whose_blocks_are_mostly_spoilt_goes_by_all_of_them():
    def at(number, is_reference):
        return "near" if is_reference else "one core"

    ran, _ = run((0.9, 1.1), host=Moving, at=at, slower={})
    assert all(len(raced.log_ratios) == len(raced.step_s) for raced in ran.race.candidates)
    assert ran.winner is not None and ran.winner.label == "allocator=glibc_thresholds"
    assert len(ran.race.order) >= STRICT_ROTATIONS and ran.race.all_count
    assert "all count" in tuned.race(ran.race)[0]


def test_a_candidate_of_which_no_block_counts_says_so():
    def at(number, is_reference):
        return "near"

    (raced,) = run((0.9,), host=Moving, at=at, slower={})[0].race.candidates
    assert raced.reason is None and raced.not_counting == []
    runner = Runner(candidate("jemalloc"))
    spoilt = {"disturbed": True, "trip_ns": 84.0, "on_one_core": False, "first": "cell"}
    runner.pairs = [Blocks(step_s=(1.0, 1.0), **spoilt)]
    runner.judge(counting.learn(runner.pairs))
    assert runner.raced.reason == NOTHING_COUNTS and runner.raced.not_counting == [0]
