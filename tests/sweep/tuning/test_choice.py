"""Which levels are put to the test, by what races say of them."""

import pytest
from made_races import (
    ACTIVE,
    DEFAULT,
    MIMALLOC,
    NOTHING,
    PAGES,
    PASSIVE,
    adopted,
    factors_of,
    race,
    raced,
)

from cputrain.sweep.tuning import choice

pytestmark = pytest.mark.tools

DEFAULT_MATMUL = {"matmul_backend": "default"}


def chosen(races, incumbent=NOTHING):
    winner = choice.chosen(factors_of(races, incumbent), incumbent)
    return [each.label for each in winner.adopted], winner


def test_the_fastest_level_of_each_factor_is_chosen_where_it_is_likely():
    races = [
        race("wait policy", raced(ACTIVE, 0.97, blocks=24), raced(PASSIVE, 0.99)),
        race("huge pages", raced(PAGES, 0.995)),
    ]
    labels, winner = chosen(races)
    assert labels == ["wait_policy=active"]
    assert winner.best.flat()["wait_policy"] == "active" and winner.default == DEFAULT


def test_what_gives_next_to_nothing_is_not_chosen_however_sure():
    sure = race("wait policy", raced(ACTIVE, 0.996, blocks=24))
    every = [sure] * 200
    (factor,) = factors_of(every).every
    weights = factors_of(every).weights({factor: factor.levels[1]}, {factor: factor.usual})
    assert factors_of(every).effects.chance_below(weights) > choice.LIKELY
    assert chosen(every)[0] == []


def test_of_what_cannot_be_together_what_gives_more_is_taken(allocators):
    pages, mimalloc = (
        race(knob, raced(changes, ratio, blocks=24))
        for knob, changes, ratio in (("huge pages", PAGES, 0.96), ("allocator", MIMALLOC, 0.93))
    )
    assert chosen([pages, mimalloc])[0] == ["allocator=mimalloc"]


def test_a_change_that_won_its_race_goes_where_it_is_not_likely_any_more():
    best = adopted("wait policy", ACTIVE)
    won = race("wait policy", raced(ACTIVE, 0.97, "adopted"))
    assert chosen([won], best)[0] == ["wait_policy=active"]
    useless = race("without one change", raced(ACTIVE, 0.95), reference=best.best)
    winner = choice.chosen(factors_of([won], best, useless), best)
    assert winner.best == DEFAULT and not winner.adopted


def test_what_came_with_an_engine_goes_back_to_the_usual_by_a_change_of_its_own():
    native = {"engine": "native", "compile": None, "attention_backend": None}
    best = adopted("engine", {**native, "matmul_backend": "openblas"})
    slower = race("matmul library", raced(DEFAULT_MATMUL, 0.9), reference=best.best)
    labels, winner = chosen([slower], best)
    assert labels[1:] == ["matmul_backend=default"]
    assert winner.best.runtime.engine == "native"
    assert winner.best.flat()["matmul_backend"] == "default"


def test_what_is_known_of_each_change_is_told_over_the_usual_one():
    best = adopted("wait policy", ACTIVE)
    won = race("wait policy", raced(ACTIVE, 0.8, "adopted"), raced(PASSIVE, 1.02))
    told = {level.label: level for level in choice.told(factors_of([won], best), best.best)}
    assert set(told) == {"wait_policy=active", "wait_policy=passive"}
    assert told["wait_policy=active"].is_chosen and not told["wait_policy=passive"].is_chosen
    value, low, high = told["wait_policy=active"].ratio
    assert low < value < high < 0.9
