"""What is said of an effect."""

import dataclasses
import math

import pytest

from cputrain.analysis.paired.effect import Effect, effect
from cputrain.analysis.paired.model import Pass
from cputrain.analysis.paired.noise import learn
from cputrain.analysis.paired.verdict import Verdict, verdict

pytestmark = pytest.mark.tools

NOISE = learn([Pass((0.001, -0.002, 0.003))] * 6)


def told(value, half, passes=2, worst=0.01, pairs=4):
    """The verdict on an effect with these half widths of 99 and 64 % of that; pairs of a pass."""
    ends = [value * math.exp(sign * half * part) for sign, part in
            ((-1, 1), (1, 1), (-1, 0.64), (1, 0.64))]  # fmt: skip
    here = Effect(value, *ends, passes, pairs * passes)
    return verdict(here, dataclasses.replace(NOISE, worst=worst))


def test_an_interval_on_one_side_of_one_is_a_difference():
    assert told(1.05, 0.02) == Verdict("slower")
    assert told(1 / 1.05, 0.02) == Verdict("faster")


def test_an_interval_within_three_percent_is_the_same():
    assert told(1.0, 0.02) == Verdict("same")
    assert told(1.0, 0.044) == Verdict("same")  # the tests are at 5 %, not at half a percent
    assert told(1.0, 0.05).word == "not told"


def test_what_surely_differs_by_less_than_three_percent_is_the_same():
    assert told(1.015, 0.01) == Verdict("same")
    assert told(1.015, 0.01, passes=1, worst=0.5) == Verdict("same")


def test_from_one_pass_an_effect_below_the_worst_a_a_pass_is_not_told():
    assert told(1.08, 0.05, passes=1, worst=0.09) == Verdict("not told", 1)
    assert told(1.08, 0.05, passes=2, worst=0.09) == Verdict("slower")
    assert told(1.10, 0.05, passes=1, worst=0.09) == Verdict("slower")
    assert told(1 / 1.08, 0.05, passes=1, worst=0.09) == Verdict("not told", 1)


def test_one_pair_tells_what_no_noise_comes_near_and_nothing_else():
    """`InstructionSet` avx2 on JAX was 1.8x slower by one pair, 1.07x and 0.98x in other sweeps."""
    assert told(1.8, 0.4, passes=1, pairs=1) == Verdict("not told", 1)
    assert told(1.0, 0.02, passes=1, pairs=1) == Verdict("not told", 1)
    assert told(4.0, 0.4, passes=1, pairs=1) == Verdict("not told", 1)
    assert told(1.05, 0.15, passes=1, pairs=1).further_passes > 1
    assert told(4.0, 0.2, passes=1, pairs=1) == Verdict("slower")
    assert told(1 / 4.0, 0.2, passes=1, pairs=1) == Verdict("faster")
    assert told(1.8, 0.4, passes=1, pairs=2) == told(1.8, 0.4, pairs=1) == Verdict("slower")


def test_the_forecast_is_of_the_passes_that_either_verdict_needs():
    # 0.0488 of 0.08 is left, 0.0296 of 0.64 0.079; passes of 8 pairs, those so far of 4
    assert told(1.05, 0.08, passes=2) == Verdict("not told", 3)
    assert told(1.0, 0.079, passes=2) == Verdict("not told", 3)
    assert told(1.003, 1.0).further_passes is None
    assert told(1.03, 0.2, passes=2).further_passes == 52  # 0.0296 of 0.2


def test_without_an_interval_nothing_is_told():
    assert verdict(effect([Pass((0.5, 0.5))], None), None) == Verdict("not told")
