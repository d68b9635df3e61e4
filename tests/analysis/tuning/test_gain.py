"""What the test of a tuning says of pairs that were taken at several places of the CPUs."""

import math
import random

import pytest
from msgspec import structs

from cputrain.analysis.paired.model import Pass
from cputrain.analysis.tuning.gain import gain
from cputrain.record.rounds import Blocks
from cputrain.record.tuning import FreshPass

pytestmark = pytest.mark.tools

CHANCE = random.Random(1)


def blocks(ratio, **where):
    times = ratio * math.exp(CHANCE.gauss(0, 0.01)), 1.0
    return Blocks(step_s=times, first="cell", **where)


def fresh(ratio, twins=False, **where):
    pairs = [blocks(ratio, **where) for _ in range(8)]
    alike = [blocks(1.0) for _ in range(8)] if twins else []
    return FreshPass(pairs=pairs, twins=alike, status="ok")


@pytest.mark.parametrize(
    "elsewhere",
    [{"trip_ns": 340.0, "on_one_core": False}, {"trip_ns": 67.0, "on_one_core": True}],
)
def test_it_is_of_the_place_where_most_pairs_were_taken(elsewhere):
    near = {"trip_ns": 84.0, "on_one_core": False}
    passes = [fresh(0.7, twins=True, **near), fresh(0.9, **elsewhere), fresh(0.7, **near)]
    known = gain(passes, ())
    assert known.effect.value == pytest.approx(0.7, rel=0.01)
    assert (known.effect.passes, known.effect.pairs, known.dropped) == (2, 16, 8)
    assert known.is_confirmed


def test_where_long_blocks_hold_several_places_all_pairs_count():
    """As seen: 22 of 24 pairs of blocks of seconds had a moved CPU, and nothing was recommended."""
    moved = {"trip_ns": 200.0, "on_one_core": False, "moved": True}
    near = {"trip_ns": 84.0, "on_one_core": False}
    known = gain([fresh(0.7, twins=True, **moved), fresh(0.71, **near), fresh(0.7, **moved)], ())
    assert (known.effect.pairs, known.dropped) == (24, 0) and known.is_confirmed
    calm = gain([fresh(0.7, twins=True, **near), fresh(0.9, **moved), fresh(0.7, **near)], ())
    assert (calm.effect.pairs, calm.dropped) == (16, 8)
    assert calm.effect.value == pytest.approx(0.7, rel=0.01)


def test_without_readings_all_pairs_count():
    known = gain([fresh(0.7, twins=True), fresh(0.9), fresh(0.7)], ())
    assert (known.effect.pairs, known.dropped) == (24, 0)
    assert known.noise.worker > 0.02


def test_the_noise_of_the_noisier_engine_counts():
    passes = [fresh(0.9, twins=True)]
    calm = [Pass((0.001, 0.0, -0.001))] * 5
    wild = [Pass((sign * 0.2, sign * 0.2, sign * 0.2)) for sign in (-1, 1, -1, 1, 1)]
    alone, beside_calm, beside_wild = (gain(passes, calm, other) for other in ((), calm, wild))
    assert alone.is_confirmed and beside_calm.is_confirmed
    assert beside_calm.noise.worker < 5 * alone.noise.worker
    assert beside_wild.noise.worker > 5 * alone.noise.worker
    assert not beside_wild.is_confirmed


def test_workers_of_a_larger_model_are_further_apart_than_the_records_small_one():
    small = [Pass((0.01 * sign, -0.005, 0.005)) for sign in (-1, 1, -1, 1, 1, -1)] * 2
    apart = (-0.05, -0.02, -0.01, -0.003, 0.003, 0.01, 0.02, 0.05)

    def of(*ratios):
        steps = [[ratio * math.exp(off) for off in apart] for ratio in ratios]
        pairs = [[Blocks(step_s=(step_s, 1.0), first="cell") for step_s in its] for its in steps]
        return gain([FreshPass(pairs=its, status="ok") for its in pairs], small)

    two, six = of(0.97, 0.95), of(*[0.97, 0.95] * 3)
    assert two.verdict.word == "not told" and two.verdict.further_passes
    assert six.is_confirmed and six.noise.worker < two.noise.worker
    assert of(0.6, 0.62).is_confirmed


@pytest.mark.parametrize(("side", "ratio"), [(0, 0.35), (1, 0.7)])
def test_one_pass_of_which_a_side_was_not_steady_confirms_nothing(side, ratio):
    """As seen: most blocks of one of the two workers took twice as long as its others."""
    pairs = [blocks(ratio) for _ in range(8)]
    slow = [2.0 if side == which else 1.0 for which in (0, 1)]
    uneven = [
        structs.replace(each, step_s=(each.step_s[0] * slow[0], each.step_s[1] * slow[1]))
        for each in pairs[:5]
    ]
    steady, hit = fresh(0.7, twins=True), fresh(0.7, twins=True)
    hit = structs.replace(hit, pairs=[*uneven, *pairs[5:]])
    assert gain([steady], ()).is_confirmed
    assert gain([hit], ()).verdict.word == "not told"
    assert gain([hit], ()).verdict.further_passes
    # A second pass of which nothing counts tells nothing more.
    spoilt = structs.replace(
        steady, twins=[], pairs=[structs.replace(each, disturbed=True) for each in pairs]
    )
    for passes in ([hit, spoilt], [spoilt, hit]):
        said = gain(passes, ())
        assert (said.effect.passes, said.verdict.word) == (1, "not told")
