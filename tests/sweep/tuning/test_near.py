"""Which changes are likely where no race has told them to be faster."""

import math

import pytest

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning import near, without
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.incumbent import Incumbent

pytestmark = pytest.mark.tools

NOTHING = Incumbent.nothing(specs.settle(Experiment()))
REFERENCE = NOTHING.best.to_json()


def race(knob, value, ratios, outcome="raced"):
    """One change in a race of its own."""
    logs = [math.log(ratio) for ratio in ratios]
    raced = Raced(label=f"{knob}={value}", changes={knob: value}, outcome=outcome, log_ratios=logs)
    return Race(knob=knob, reference=REFERENCE, candidates=[raced])


def labels(incumbent):
    return [each.label for each in incumbent.adopted]


def with_allocator():
    changes = {"allocator": "glibc_thresholds"}
    best = specs.settle(NOTHING.best.but(**changes))
    return NOTHING.plus("allocator", TuningCandidate("allocator=glibc_thresholds", changes, best))


def test_what_failed_is_never_the_likeliest():
    failed = race("huge_pages", "madvise", [0.6], "failed")
    raced = race("wait_policy", "active", [0.9])
    assert labels(near.likeliest([failed, raced], NOTHING)) == ["wait_policy=active"]


SURE = race("attention_backend", "manual", [0.80, 0.82, 0.78, 0.81])
UNSURE = race("huge_pages", "madvise", [0.88, 1.02])
SMALL = race("wait_policy", "active", [0.985] * 24)


def test_where_nothing_won_the_best_is_tested_however_unsure():
    assert labels(near.likeliest([UNSURE, SMALL], NOTHING)) == ["huge_pages=madvise"]
    assert labels(near.likeliest([SMALL], NOTHING)) == []


def test_beside_what_won_nothing_is_tested_for_that():
    best = with_allocator()
    assert near.likeliest([SURE, UNSURE], best) == best


def test_what_raced_beside_another_engine_is_left():
    changes = {"engine": "native", "compile": None, "attention_backend": None}
    native = specs.settle(NOTHING.best.but(**changes))
    default = Incumbent.nothing(native)
    assert near.likeliest([race("wait_policy", "active", [0.8] * 4)], default) == default


def test_what_was_not_needed_beside_the_others_is_left_out():
    won = [race("allocator", "glibc_thresholds", [0.8] * 8, "adopted")]
    won += [race("wait_policy", "active", [0.96] * 8, "adopted")]
    best = with_allocator()
    settled = specs.settle(best.best.but(wait_policy="active"))
    best = best.plus(
        "wait policy", TuningCandidate("wait_policy=active", {"wait_policy": "active"}, settled)
    )

    def beside(label, ratio):
        logs = [math.log(ratio)] * 8
        return Raced(label=label, changes={}, outcome="raced", log_ratios=logs)

    slower = [beside("allocator=glibc_thresholds", 1.2), beside("wait_policy=active", 1.04)]
    ran = Race(knob=without.KNOB, reference=REFERENCE, candidates=slower)
    assert without.needed(best, ran, won) == best
    ran = Race(
        knob=without.KNOB,
        reference=REFERENCE,
        candidates=[slower[0], beside(slower[1].label, 0.95)],
    )
    assert labels(without.needed(best, ran, won)) == ["allocator=glibc_thresholds"]
