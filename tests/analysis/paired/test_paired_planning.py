"""Which cells get another pass."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cputrain.analysis.paired import planning
from cputrain.analysis.paired.effect import Effect, effect
from cputrain.analysis.paired.model import Pass
from cputrain.analysis.paired.noise import learn
from cputrain.analysis.paired.planning import Candidate

pytestmark = pytest.mark.tools

NOISE = dataclasses.replace(learn([Pass((0.001, -0.002, 0.003))] * 6), worst=0.01)


def effect_of(value, half, passes=2, pairs=4):
    """An effect with this half of its interval; `pairs` of each pass."""
    factor = math.exp(half)
    inner = factor**0.64
    ends = value / factor, value * factor, value / inner, value * inner
    return Effect(value, *ends, passes, pairs * passes)


def candidate(key, half, seconds=5.0, value=1.0, passes=2, noise=NOISE, pairs=4):
    return Candidate(key, effect_of(value, half, passes, pairs), noise, seconds)


sizes = st.floats(-2.0, 2.0)
halves = st.floats(1e-3, 1.0)


@given(sizes, halves)
def test_neither_side_of_one_is_closed_earlier(size, half):
    here, there = effect_of(math.exp(size), half), effect_of(math.exp(-size), half)
    assert planning.target(here) == pytest.approx(planning.target(there))
    assert planning.is_closed(here, NOISE) == planning.is_closed(there, NOISE)
    gains = [Candidate("x", effect, NOISE, 5.0).gain() for effect in (here, there)]
    assert gains == [pytest.approx(gains[0])] * 2 or gains == [None, None]


@given(sizes, halves)
def test_the_target_moves_by_no_more_than_its_proportion_of_the_effect(size, half):
    here, near = (planning.target(effect_of(math.exp(size + by), half)) for by in (0.0, 1e-3))
    assert abs(near - here) <= 1.01e-3 * planning.PROPORTION


@pytest.mark.parametrize("value", [1.0, 1.015, 1.021, 1.1, 1.9])
def test_closed_is_a_matter_of_width_and_not_of_what_the_interval_holds(value):
    width = planning.target(effect_of(value, 1.0))
    assert planning.is_closed(effect_of(value, 0.999 * width), NOISE)
    assert not planning.is_closed(effect_of(value, 1.001 * width), NOISE)


def test_large_effects_need_relative_precision():
    assert planning.target(effect_of(1.0, 1.0)) == planning.PRECISION
    assert planning.target(effect_of(4.0, 1.0)) == pytest.approx(0.15 * math.log(4), rel=0.02)
    assert planning.target(effect_of(1.0, 1.0), precision=0.005) == 0.005


def test_a_single_pass_is_not_closed_where_a_worker_alone_was_off_by_more():
    bad = dataclasses.replace(NOISE, worst=0.5)
    assert planning.is_closed(effect_of(1.0, 0.01, passes=1), NOISE)
    assert not planning.is_closed(effect_of(1.0, 0.01, passes=1), bad)
    assert candidate("x", 0.01, passes=1, noise=bad).gain() > 0
    assert candidate("x", 0.01, passes=1, noise=bad).gain(given=1) is None
    assert planning.is_closed(effect_of(1.0, 0.01, passes=2), bad)


def test_where_a_pass_tells_most_for_its_seconds_goes_first():
    """Nearly closed cells, which are soon closed, leave little to tell: they come last."""
    cells = [
        candidate("nearly", 0.021),
        candidate("closed", 0.01),
        candidate("wide", 0.1),
        candidate("wide but long", 0.1, seconds=20.0),
    ]
    assert planning.next_pass(cells, math.inf) == ["wide", "wide but long", "nearly"]


def test_a_single_pair_goes_before_what_many_pairs_tell():
    """Its interval is mostly of noise that more pairs average out, however wide it is."""
    busy = dataclasses.replace(NOISE, block=0.08, worker=0.007, worst=0.01)
    one, many = (
        candidate(name, 0.4, value=1.05, passes=1, noise=busy, pairs=pairs)
        for name, pairs in (("one pair", 1), ("twenty pairs", 20))
    )
    large = candidate("told, and large", 0.35, value=8.0, passes=1, noise=busy, pairs=3)
    chosen = planning.next_pass([many, large, one], math.inf)
    assert chosen == ["one pair", "twenty pairs", "told, and large"]


def test_the_order_knows_no_verdict():
    """Of two cells as exact as each other, one surely slower, one not: by the seconds alone."""
    here, there = (
        candidate(name, 0.05, seconds=seconds, value=value)
        for name, seconds, value in (("told", 5.0, 1.052), ("not told", 5.1, 1.05))
    )
    assert planning.next_pass([there, here], math.inf) == ["told", "not told"]


def test_the_budget_is_kept_and_what_does_not_fit_leaves_its_place():
    cells = [candidate("short", 0.021, seconds=4.0), candidate("long", 0.4, seconds=9.0)]
    assert planning.next_pass(cells, 14.0) == ["long", "short"]
    assert planning.next_pass(cells, 10.0) == ["long"]
    assert planning.next_pass(cells, 8.0) == ["short"]
    assert planning.next_pass(cells, 3.0) == []


def test_when_cells_have_had_their_passes_is_in_the_order_of_the_plan():
    cells = [candidate("wide", 0.1, 5.0), candidate("other", 0.09, 7.0), candidate("shut", 0.01)]
    until = planning.seconds_until(cells, {"wide": 1, "other": 1, "shut": 1})
    assert until == {"wide": 5.0, "other": 12.0}, "what is closed gets no pass"
    later = planning.seconds_until(cells, {"wide": 2})
    assert later["wide"] in (10.0, 17.0), "the other one may have its turn in between"
    assert planning.seconds_until(cells, {"wide": 1000}) == {}
    assert planning.seconds_until(cells, {}) == {}


def test_a_suite_s_own_seconds_are_of_the_budget_and_paid_once():
    cells = [
        dataclasses.replace(candidate(name, 0.03, seconds=4.0), suite=suite)
        for name, suite in (("a", "X"), ("b", "X"), ("c", "Y"))
    ]
    assert planning.next_pass(cells, 14.0, suite_s=1.5) == ["a", "b"]
    assert planning.next_pass(cells, 15.0, suite_s=1.5) == ["a", "b", "c"]
    assert planning.next_pass(cells, 5.0, suite_s=1.5) == []


@pytest.mark.parametrize(
    ("block", "worker", "start_s", "pairs"),
    [(0.02, 0.008, 3.0, 8), (0.02, 0.008, 1.0, 8), (0.05, 0.01, 3.0, 15), (0.01, 0.0002, 1.0, 40)],
)
def test_pairs_of_a_pass_are_more_where_blocks_are_the_noise(block, worker, start_s, pairs):
    noise = dataclasses.replace(NOISE, block=block, worker=worker)
    assert planning.pairs_per_pass(noise, start_s, pair_s=0.5) == pairs


def test_what_cannot_have_an_interval_gets_no_pass():
    here = Candidate("x", effect([Pass((0.1, 0.1))], None), None, 1.0)
    assert here.gain() is None
    assert not planning.is_closed(here.effect, None)
    assert planning.next_pass([here], math.inf) == []
