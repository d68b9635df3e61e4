"""Effects of many changes from contrasts in which they vary at once."""

import math
import random

import pytest

from cputrain.analysis.tuning import additive
from cputrain.analysis.tuning.additive import Contrast

pytestmark = pytest.mark.tools

TRUE = (-0.025, -0.01, 0.0, 0.01, 0.02)
PRIORS = [0.02] * len(TRUE)
NOISE = 0.02


def rounds(count, chance, noise=NOISE):
    """Sides that differ in every factor, each of two levels: one effect and its opposite."""
    made = []
    for _ in range(count):
        signs = [chance.choice((-1.0, 1.0)) for _ in TRUE]
        value = sum(sign * effect for sign, effect in zip(signs, TRUE, strict=True))
        made.append(Contrast(tuple(signs), value + chance.gauss(0, noise), noise**2))
    return made


def unit(number):
    return tuple(float(number == other) for other in range(len(TRUE)))


def test_effects_are_found_with_the_errors_that_are_said():
    chance, outside, off = random.Random(1), 0, []
    for _ in range(60):
        effects = additive.estimate(rounds(16, chance), PRIORS)
        for number, true in enumerate(TRUE):
            mean, deviation = effects.of(unit(number))
            off.append(mean - true)
            outside += abs(mean - true) > 1.645 * deviation
    assert outside <= 0.15 * len(off)  # of 90 % intervals
    assert math.sqrt(sum(each**2 for each in off) / len(off)) < 1.3 * NOISE / math.sqrt(16)


def test_a_round_tells_of_every_factor():
    wide = [1.0] * len(TRUE)
    at_once = additive.estimate(rounds(20, random.Random(2)), wide)
    singly = [Contrast(unit(number % len(TRUE)), 0.0, NOISE**2) for number in range(20)]
    one_by_one = additive.estimate(singly, wide)
    for number in range(len(TRUE)):
        assert one_by_one.of(unit(number))[1] > 1.3 * at_once.of(unit(number))[1]


def test_a_large_effect_is_believed_and_a_small_one_by_little_is_not():
    effects = additive.estimate(
        [Contrast((1.0, 0.0), -0.4, 0.03**2), Contrast((0.0, 1.0), -0.02, 0.03**2)], PRIORS[:2]
    )
    assert effects.of((1.0, 0.0))[0] == pytest.approx(-0.4, abs=0.02)
    assert -0.01 < effects.of((0.0, 1.0))[0] < -0.003


def test_of_two_levels_the_one_that_was_faster_stays_so():
    """Whichever of the three the others were compared with."""
    tried = [Contrast((-1.0, 1.0, 0.0), -0.127, 0.02**2)]
    tried += [Contrast((-1.0, 0.0, 1.0), -0.102, 0.02**2)]
    effects = additive.estimate(tried, PRIORS[:3])
    assert effects.of((0.0, 1.0, -1.0))[0] < -0.01
    assert effects.chance_below((0.0, 1.0, -1.0)) > 0.6


def test_a_worker_far_from_the_others_does_not_turn_an_effect_round():
    calm = rounds(16, random.Random(3), noise=0.005)
    before = additive.estimate(calm, PRIORS).of(unit(0))[0]
    (first, *rest) = calm
    spoilt = Contrast(first.weights, first.value + 0.3, first.variance)
    after = additive.estimate([spoilt, *rest], PRIORS).of(unit(0))[0]
    assert after == pytest.approx(before, abs=0.003)


def test_what_is_known_tells_less():
    known = additive.estimate([Contrast((1.0, 0.0), 0.0, 0.002**2)] * 4, PRIORS[:2])
    told, open_ = (known.information(weights, 0.01**2) for weights in ((1.0, 0.0), (0.0, 1.0)))
    assert told < 0.05 < 0.5 < open_


def test_nothing_is_known_of_what_nothing_was_told_of():
    effects = additive.estimate([], PRIORS[:2])
    assert effects.of((1.0, -1.0)) == pytest.approx((0.0, math.sqrt(2) * PRIORS[0]), rel=0.3)
    assert effects.chance_below((1.0, -1.0)) == pytest.approx(0.5)
    assert effects.chance_below((0.0, 0.0)) == 0.5
