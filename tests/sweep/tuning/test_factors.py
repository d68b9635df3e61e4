"""What races say, as levels of factors: whose contrast it is, and which races have none."""

import math

import pytest
from made_races import ACTIVE, DEFAULT, NOTHING, PASSIVE, adopted, factors_of, race, raced

from cputrain.engines import specs
from cputrain.sweep.tuning import without

pytestmark = pytest.mark.tools


def ratios(factors):
    """Of each level but the usual ones, by its label."""
    effects = factors.effects
    return {
        level.label: math.exp(
            effects.of(factors.weights({factor: level}, {factor: factor.usual}))[0]
        )
        for factor in factors.every
        for level in factor.levels
        if level is not factor.usual
    }


def test_values_of_a_knob_are_levels_of_one_factor():
    factors = factors_of([race("wait policy", raced(ACTIVE, 0.9), raced(PASSIVE, 1.1))], NOTHING)
    (factor,) = factors.every
    assert [level.label for level in factor.levels] == [
        "wait_policy=default",
        "wait_policy=active",
        "wait_policy=passive",
    ]
    assert factor.best is factor.usual is factor.levels[0]
    told = ratios(factors)
    assert told["wait_policy=active"] < 0.95 and told["wait_policy=passive"] > 1.05


def test_after_a_change_won_its_races_reference_is_the_level_before():
    best = adopted("wait policy", ACTIVE)
    first = race("wait policy", raced(ACTIVE, 0.8, "adopted"))
    factors = factors_of([first], best)
    (factor,) = factors.every
    assert factor.best.label == "wait_policy=active" and factor.usual.label.endswith("default")
    assert ratios(factors)["wait_policy=active"] == pytest.approx(0.8, abs=0.02)
    # A second race of the knob, beside the winner of the first.
    second = race("wait policy", raced(PASSIVE, 1.5), reference=best.best)
    both = factors_of([first, second], best)
    assert len(both.every) == 1
    assert ratios(both)["wait_policy=passive"] == pytest.approx(1.2, abs=0.03)


def test_what_the_winner_lost_without_a_change_counts_for_it():
    best = adopted("wait policy", ACTIVE)
    races = [race("wait policy", raced(ACTIVE, 0.95, "adopted"))]
    beside = race(without.KNOB, raced(ACTIVE, 1.5), reference=best.best)
    before, after = ratios(factors_of(races, best)), ratios(factors_of(races, best, beside))
    assert after["wait_policy=active"] < before["wait_policy=active"] < 1.0
    useless = race(without.KNOB, raced(ACTIVE, 0.9), reference=best.best)
    assert ratios(factors_of(races, best, useless))["wait_policy=active"] > 1.0


def test_what_says_nothing_of_the_settings_is_left_out():
    native = specs.settle(DEFAULT.but(engine="native", compile=None, attention_backend=None))
    none = raced({"huge_pages": "madvise"}, 1.0, blocks=0)
    gone = raced({"pinning": "close"}, 0.5, "failed")
    engine = raced({"engine": "native", "compile": None}, 0.6)
    elsewhere = race("wait policy", raced(ACTIVE, 0.5), reference=native)
    assert not factors_of([race("k", none, gone, engine), elsewhere], NOTHING).every


def test_a_round_counts_for_all_that_its_sides_differ_in():
    pages = {"huge_pages": "madvise"}
    races = [race("wait policy", raced(ACTIVE, 1.0)), race("huge pages", raced(pages, 1.0))]
    factors = factors_of(races, NOTHING)
    wait, huge = factors.every
    one, other = ({wait: wait.levels[a], huge: huge.levels[b]} for a, b in ((1, 0), (0, 1)))
    weights = factors.weights(one, other)
    assert sorted(weights) == [-1.0, -1.0, 1.0, 1.0]
    assert weights[wait.levels[1].number] == 1.0 and weights[huge.levels[1].number] == -1.0
    assert not any(factors.weights(one, one))
