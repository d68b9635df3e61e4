"""The test of a winner on simulated step times: how its time is divided into passes."""

import pytest
import simulated_workers
from msgspec import structs
from settled import settled
from simulated_workers import Simulated, identical

from cputrain.analysis.paired.model import Pass
from cputrain.sweep.tuning import fresh
from cputrain.sweep.tuning.sides import FEWEST_PAIRS, Sides

pytestmark = pytest.mark.tools

DEFAULT = settled()
TUNED = DEFAULT.but(allocator="mimalloc")
STEP_S = 5.0
RECORDS = {"torch": [Pass((0.01, 0.0, -0.01))] * 3}
SHARED = [(130, 1), (290, 2), (440, 3), (620, 4), (900, 5)]
"""Seconds of a test, and passes that it takes."""
LAST_S = 32
"""Seconds of a pair beside its twin, of proofs, and of either's drift."""


@pytest.mark.parametrize("seconds", [180, 220, 260, 300, 340, 380, 420])
def test_what_a_first_pass_leaves_of_the_time_goes_to_another(seconds):
    """Three workers are warm after 66 s, 3 pairs and twins take 60 s; of two it is 44 and 30."""
    workers = Simulated(lambda e: STEP_S * (0.98 if e == TUNED else 1.0), noise=0.05)
    test = fresh.Test(workers, Sides(TUNED, DEFAULT), {}, 0, workers.now, lambda taken: None)
    test.run(float(seconds))
    assert workers.seconds <= 1.05 * seconds
    is_long = len(test.passes[-1].pairs) == fresh.MOST_PAIRS
    assert is_long or workers.seconds >= seconds - LAST_S
    assert len(test.passes) >= (1 if seconds < 300 else 2)
    assert all(len(taken.pairs) >= FEWEST_PAIRS for taken in test.passes)


def ran(workers, passes, earlier=None):
    """A test of some passes."""
    fresh_ = fresh.Test(
        workers, Sides(TUNED, DEFAULT), earlier or {}, 0, workers.now, lambda taken: None
    )
    while len(fresh_.passes) < passes:
        fresh_.passes.append(fresh_.take(1e6))
    return fresh_


def test_a_worker_that_was_not_steady_runs_a_block_more_that_does_not_count():
    blocks = {}
    for is_steady in (True, False):
        workers = Simulated(lambda e: STEP_S, is_steady=is_steady)
        (taken,) = ran(workers, 1).passes
        assert len(taken.pairs) == len(taken.twins) == fresh.PAIRS
        blocks[is_steady] = len(workers.blocks)
    assert blocks[False] == blocks[True] + 3


def test_twins_run_until_they_tell_the_noise():
    """Others have the CPUs during all blocks of the first pass's twins."""
    workers = Simulated(lambda e: 0.9 if e == TUNED else 1.0)
    test = ran(workers, 1)
    (first,) = test.passes
    spoilt = [structs.replace(pair, disturbed=True) for pair in first.twins]
    test.passes = [structs.replace(first, twins=spoilt)]
    assert test.gain().effect.low is None
    second = test.take(1e6)
    assert second.twins
    test.passes.append(second)
    assert test.gain().effect.low is not None
    while len(test.passes) < 4:
        test.passes.append(test.take(1e6))
        assert test.passes[-1].pairs and not test.passes[-1].twins
    assert test.gain().is_confirmed


@pytest.mark.parametrize("records", [0, 2, 3])
def test_enough_records_of_the_engine_save_a_test_the_twin(records):
    workers = Simulated(lambda e: STEP_S * (0.7 if e == TUNED else 1.0))
    earlier = {"torch": RECORDS["torch"][:records]}
    test = fresh.Test(workers, Sides(TUNED, DEFAULT), earlier, 0, workers.now, lambda taken: None)
    assert test.run(300.0).is_confirmed
    first, *later = test.passes
    assert bool(first.twins) == (records < 3) and not any(taken.twins for taken in later)


def test_identical_workers_that_lie_further_apart_than_the_records_are_not_told_to_differ(
    monkeypatch,
):
    """As seen: the same settings were 0.873x [0.824, 0.938] of themselves by two passes."""
    monkeypatch.setattr(simulated_workers, "WORKER", 0.06)
    held = confirmed = 0
    for seed in range(40):
        workers = Simulated(lambda e: 7.0, seed, noise=0.05, start_s=3.0)
        earlier = {"torch": identical(8, seed)}
        test = fresh.Test(
            workers, Sides(TUNED, DEFAULT), earlier, seed, workers.now, lambda taken: None
        )
        gain = test.run(400.0)
        held += gain.effect.low <= 1 <= gain.effect.high
        confirmed += gain.is_confirmed
    assert held >= 38 and confirmed <= 1, (held, confirmed)


@pytest.mark.parametrize(("seconds", "passes"), SHARED)
def test_its_time_is_divided_into_passes(seconds, passes):
    """Three pairs take some 116 s: workers are warm after 62, pairs and proofs take 14."""
    workers = Simulated(lambda e: 7.0, noise=0.02, start_s=3.0)
    test = fresh.Test(workers, Sides(TUNED, DEFAULT), RECORDS, 0, workers.now, lambda taken: None)
    test.run(float(seconds))
    assert len(test.passes) == passes
    pairs = [len(taken.pairs) for taken in test.passes]
    assert max(pairs[:-1], default=0) <= min(pairs[:-1], default=0) + 2, pairs
    assert workers.seconds <= 1.05 * seconds
