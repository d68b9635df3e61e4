"""The winner of a tuning beside itself without one of its changes each."""

import random

import pytest
from simulated_workers import Simulated

from cputrain.engines import specs
from cputrain.experiment.presets import PRESETS
from cputrain.sweep.tuning import reduced, without
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.incumbent import Incumbent
from cputrain.sweep.tuning.race import Racing

pytestmark = pytest.mark.tools

DEFAULT = specs.settle(PRESETS["llm-25m"].experiment)
"""In micro-batches of two sequences; one of four would race as two."""
PAGES = ("huge pages", {"huge_pages": "madvise"})
WAIT = ("wait policy", {"wait_policy": "active"})
MICRO = ("micro-batch", {"batch_size": 4, "grad_accum": 4})
BOTH = ("both", {**MICRO[1], **WAIT[1]})


def winner(*changes, default=DEFAULT):
    incumbent = Incumbent.nothing(default)
    for knob, fields in changes:
        best = specs.settle(incumbent.best.but(**fields))
        incumbent = incumbent.plus(knob, TuningCandidate(knob, fields, best))
    return incumbent


def raced(incumbent, until):
    """What came of each change, and the sizes of micro-batches that ran."""
    workers = Simulated(lambda e: 2.0)
    racing = Racing(workers, random.Random(0), workers.now, lambda: 1 << 40)
    race = without.race(racing, workers, incumbent, workers.now, until)
    assert race is not None and not workers.alive
    reasons = {each.label: each.reason for each in race.candidates}
    assert all(each.log_ratios for each in race.candidates if each.reason is None)
    return reasons, {worker.experiment.training.batch_size for worker in workers.blocks}


@pytest.mark.parametrize("change", [MICRO, BOTH])
def test_whole_micro_batches_race_where_smaller_ones_would_hide_a_change(change):
    reasons, sizes = raced(winner(PAGES, change), until=600.0)
    assert reasons == {"huge pages": None, change[0]: None} and sizes == {2, 4}


@pytest.mark.parametrize("change", [MICRO, BOTH])
def test_without_time_for_these_the_others_race_and_it_says_so(change):
    reasons, sizes = raced(winner(PAGES, change), until=20.0)
    assert reasons == {"huge pages": None, change[0]: without.OF_WHOLE} and sizes == {2}


def test_smaller_ones_race_where_they_hide_nothing():
    default = specs.settle(PRESETS["wiki-24m"].experiment)
    assert reduced.reduced(default).training.batch_size < default.training.batch_size
    reasons, sizes = raced(winner(PAGES, WAIT, default=default), until=600.0)
    assert set(reasons.values()) == {None}
    assert sizes == {reduced.reduced(default).training.batch_size}
