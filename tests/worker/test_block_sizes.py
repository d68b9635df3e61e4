"""How many steps a block has, and whose is first."""

import pytest
from settled import settled

from cputrain.worker import blocks


@pytest.mark.parametrize(
    ("step_s", "steps"),
    [
        (0.001, 50),
        (0.01, 5),
        (0.02, 2),
        (0.035, 1),
        (0.1, 1),
        (0.2, 1),
        (5.0, 1),
        (None, 1),  # a first step, which is there once
    ],
)
def test_a_block_takes_about_a_twentieth_of_a_second_and_one_step_at_least(step_s, steps):
    assert blocks.steps(settled(), step_s) == steps


@pytest.mark.parametrize("step_s", [0.001, 5.0, None])
def test_steps_that_an_experiment_asks_for_are_taken(step_s):
    assert blocks.steps(settled(steps=7), step_s) == 7


@pytest.mark.parametrize(
    ("step_s", "beside", "pairs"),
    [
        (0.03, 0.03, 4),
        (0.03, 0.1, 2),  # no noise comes near a factor of 3
        (0.1, 0.03, 2),
        (0.12, 0.12, 3),
        (0.3, 0.3, 2),
        (0.5, 0.4, 2),
        (20.0, 18.0, 2),
    ],
)
def test_long_steps_and_those_far_apart_have_fewer_pairs(step_s, beside, pairs):
    sides = [blocks.side(settled(), seconds) for seconds in (step_s, beside)]
    assert blocks.pairs(4, *sides) == pairs
    assert blocks.pairs(1, *sides) == 1


def test_what_is_beside_nothing_has_fewer_blocks_where_steps_are_long():
    sides = [blocks.side(settled(steps=1), step_s) for step_s in (0.4, 1.2, 5.0)]
    assert [blocks.alone(2, side) for side in sides] == [2, 2, 1]


def test_the_first_step_after_a_stop_is_discarded_where_it_is_worth_it():
    assert [blocks.discarded(s) for s in (0.001, 0.2, 0.3, 20.0, None)] == [1, 1, 0, 0, 0]


@pytest.mark.parametrize("seed", ["a", "b", "c", "d", "e", "f"])
def test_sides_take_turns_and_the_seed_says_who_begins(seed):
    orders = [blocks.order(seed, pair) for pair in range(40)]
    assert all({*sides} == {"cell", "reference"} for sides in orders)
    ran = [side for sides in orders for side in sides]
    assert ran[1:-1:2] == ran[2::2]  # A BB AA BB A: whoever ran last runs on
    assert orders == [blocks.order(seed, pair) for pair in range(40)]


def test_over_many_seeds_each_side_is_first_about_as_often():
    first = [blocks.order(str(seed), 0)[0] for seed in range(400)]
    assert 120 < first.count("cell") < 280
