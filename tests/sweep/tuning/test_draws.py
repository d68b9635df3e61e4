"""Which levels the sides of a round have."""

import random

import pytest
from made_races import ACTIVE, MIMALLOC, NOTHING, PAGES, PASSIVE, factors_of, race, raced
from settled import settled

from cputrain.engines import specs
from cputrain.experiment.presets import PRESETS
from cputrain.sweep.tuning import reduced
from cputrain.sweep.tuning.draws import Draws
from cputrain.sweep.tuning.incumbent import Incumbent

pytestmark = pytest.mark.tools

NEAR = {"ratio": 0.995, "blocks": 4}
VARIANCE = 0.02**2


def drawn(factors, as_run=lambda e: e, seed=0, seconds=lambda draw: 10.0, left_s=60.0):
    draws = Draws(factors, as_run, random.Random(seed))
    return draws.best(VARIANCE, seconds, left_s)


def labels(side):
    return {factor.knob: level.label for factor, level in side.items()}


def test_the_sides_differ_in_what_is_open_alone():
    races = [
        race("wait policy", raced(ACTIVE, **NEAR), raced(PASSIVE, 1.2)),
        race("huge pages", raced(PAGES, **NEAR)),
        race("pinning", raced({"pinning": "close"}, 1.3)),
    ]
    seen = set()
    for seed in range(30):
        one, other = drawn(factors_of(races, NOTHING), seed=seed).sides
        for side in (one, other):
            assert labels(side)["pinning"] == "pinning=none"
            assert labels(side)["wait policy"] != "wait_policy=passive"
            seen.add(tuple(labels(side).values()))
        assert labels(one) != labels(other)
    assert len(seen) == 4


def test_a_side_has_nothing_that_cannot_be_together(allocators):
    races = [race("huge pages", raced(PAGES, **NEAR)), race("allocator", raced(MIMALLOC, **NEAR))]
    for seed in range(30):
        draw = drawn(factors_of(races, NOTHING), seed=seed)
        for side, experiment in zip(draw.sides, draw.experiments, strict=True):
            has = labels(side)
            assert has != {"huge pages": "huge_pages=madvise", "allocator": "allocator=mimalloc"}
            flat = experiment.flat()
            assert f"huge_pages={flat['huge_pages']}" == has["huge pages"]
            assert f"allocator={flat['allocator']}" == has["allocator"]


def test_where_nothing_is_open_or_there_is_no_time_there_is_no_round():
    assert drawn(factors_of([], NOTHING)) is None
    told = [race("huge pages", raced(PAGES, 1.4, blocks=24))]
    assert drawn(factors_of(told, NOTHING)) is None
    near = [race("huge pages", raced(PAGES, **NEAR))]
    assert drawn(factors_of(near, NOTHING)) is not None
    assert drawn(factors_of(near, NOTHING), left_s=9.0) is None


def test_of_the_rounds_that_tell_as_much_the_shorter_one_is_run():
    races = [
        race("micro-batch", raced({"batch_size": 4, "grad_accum": 1}, **NEAR)),
        race("huge pages", raced(PAGES, **NEAR)),
        race("wait policy", raced(ACTIVE, **NEAR)),
    ]
    default = Incumbent.nothing(settled(batch_size=1, grad_accum=4))

    def seconds(draw):
        return sum(10.0 * each.training.batch_size for each in draw.experiments)

    sides = [
        drawn(factors_of(races, default), seed=s, seconds=seconds).experiments for s in range(20)
    ]
    assert all(each.training.batch_size == 1 for both in sides for each in both)


def test_what_smaller_micro_batches_hide_is_not_varied():
    default = Incumbent.nothing(specs.settle(PRESETS["wiki-24m"].experiment))
    smaller = raced({"batch_size": 8, "grad_accum": 2}, **NEAR)
    races = [race("micro-batch", smaller, reference=default.best)]
    races += [race("huge pages", raced(PAGES, **NEAR), reference=default.best)]
    assert reduced.reduced(default.best).training.batch_size < 8
    for seed in range(10):
        one, other = drawn(factors_of(races, default), reduced.reduced, seed).sides
        assert labels(one)["micro-batch"] == labels(other)["micro-batch"]
