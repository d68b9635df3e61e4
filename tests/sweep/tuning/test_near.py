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
    def raced(label, outcome):
        ratios = [-0.5] if outcome == "failed" else [-0.1]
        return Raced(
            label=label, changes={"huge_pages": "madvise"}, outcome=outcome, log_ratios=ratios
        )

    race = Race(
        knob="k",
        reference=REFERENCE,
        candidates=[raced("a", "failed"), raced("b", "raced")],
    )
    (change,) = near.changes([race], NOTHING).values()
    assert change.label == "b"


SURE = race("attention_backend", "manual", [0.80, 0.82, 0.78, 0.81])
UNSURE = race("huge_pages", "madvise", [0.88, 1.02])
SMALL = race("wait_policy", "active", [0.985] * 24)


def test_where_nothing_won_the_best_is_tested_however_unsure():
    assert labels(near.likeliest([UNSURE], NOTHING)) == ["huge_pages=madvise"]
    assert labels(near.likeliest([SMALL], NOTHING)) == []


def test_beside_what_won_those_are_tested_that_are_faster_by_their_interval():
    best = near.likeliest([SURE, UNSURE, SMALL], with_allocator())
    assert labels(best) == ["allocator=glibc_thresholds", "attention_backend=manual"]
    flat = best.best.flat()
    assert (flat["allocator"], flat["attention_backend"]) == ("glibc_thresholds", "manual")


def together(ratios):
    """Two changes as one."""
    raced = Raced(
        label="huge_pages=madvise and attention_backend=manual",
        changes={"huge_pages": "madvise", "attention_backend": "manual"},
        outcome="raced",
        log_ratios=[math.log(ratio) for ratio in ratios],
    )
    return Race(knob=near.TOGETHER, reference=REFERENCE, candidates=[raced])


def test_what_raced_together_is_told_by_that_race():
    best = with_allocator()
    assert near.likeliest([SURE, together([1.0, 1.01])], best) == best


def test_what_was_faster_together_is_tested_as_one_change():
    best = near.likeliest([SURE, together([0.90, 0.92, 0.91, 0.90])], with_allocator())
    assert labels(best) == [
        "allocator=glibc_thresholds",
        "huge_pages=madvise and attention_backend=manual",
    ]
    flat = best.best.flat()
    assert (flat["huge_pages"], flat["attention_backend"]) == ("madvise", "manual")


def test_what_raced_beside_another_engine_is_left():
    changes = {"engine": "native", "compile": None, "attention_backend": None}
    native = specs.settle(NOTHING.best.but(**changes))
    best = NOTHING.plus("engine", TuningCandidate("engine=native", changes, native))
    assert near.likeliest([race("optimizer_kernel", "foreach", [0.8] * 4)], best) == best


def test_one_that_no_race_told_is_needed_by_the_ratio_it_has():
    best = near.likeliest([SURE], with_allocator())
    won = race("allocator", "glibc_thresholds", [0.8] * 8, "adopted")
    lost = SURE.candidates
    slower = Race(
        knob=without.KNOB,
        reference=REFERENCE,
        candidates=[
            Raced(label=each.label, changes={}, outcome="raced", log_ratios=[math.log(1.2)] * 4)
            for each in (*won.candidates, *lost)
        ],
    )
    assert without.needed(best, slower, [won, SURE]) == (best, [])
