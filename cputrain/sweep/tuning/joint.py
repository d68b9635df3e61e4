"""All likely changes at once, beside none of them: rounds that did not choose them.

Of a dozen changes some look faster by chance, and of small ones none is told by itself for sure. So
what is likely is a guess, which fresh workers take or leave as a whole (a confirmation experiment:
Montgomery 2017, "Design and Analysis of Experiments", 9th ed., section 1.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from cputrain.analysis.tuning import halving
from cputrain.record.rounds import JointEffect
from cputrain.sweep.tuning import choice, near
from cputrain.sweep.tuning.factors import Factors
from cputrain.sweep.tuning.incumbent import Incumbent
from cputrain.sweep.tuning.rounds import FEWEST_JOINT, Rounds, Taken

HOPEFUL = 0.75
"""Chance of a level to be faster, from which it is tried together with others."""
NEVER = 2.0


def chosen(
    rounds: Rounds, factors: Factors, best: Incumbent, until: float, taken: Taken
) -> tuple[Incumbent, JointEffect | None]:
    """The best settings, and what likely changes gave together.

    What does not show in what is run, and everything where there is no time for these rounds, is
    chosen by itself (`choice.chosen`). Where nothing else is, likely changes are that look faster
    by 3 % (`near.WORTH_A_TEST`), as the test may tell them.

    Args:
        rounds: that were taken; they go on.
        best: the settings so far.
        until: by the clock.
        taken: told of all rounds after each.
    """

    def surely(joint: float) -> choice.Chance:
        return lambda level: joint if rounds.shows[level] else choice.LIKELY

    hopeful = choice.chosen(factors, best, surely(HOPEFUL))
    without = choice.chosen(factors, best, surely(NEVER))
    if hopeful.best == without.best:
        return without, None
    told = rounds.joint(hopeful.best, without.best, until, taken)
    if len(told) < FEWEST_JOINT:
        return choice.chosen(factors, best), None
    value, deviation = _together([(each.median, each.variance) for each in told])
    wide = NormalDist().inv_cdf((1 + halving.LEVEL) / 2) * deviation
    low, high = value - wide, value + wide
    is_worth_a_test = not without.adopted and value < math.log(near.WORTH_A_TEST)
    effect = JointEffect(
        labels=[each.label for each in hopeful.adopted if each not in without.adopted],
        ratio=(math.exp(value), math.exp(low), math.exp(high)),
        rounds=len(told),
        is_chosen=high < 0 or is_worth_a_test,
    )
    return hopeful if effect.is_chosen else without, effect


def _together(told: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """What rounds say, as `halving.pooled`; less sure where they lie further apart than expected.

    Of some models workers differ by more than is usual. The deviation grows by the root of the mean
    square (Birge 1932, "The Calculation of Errors by the Method of Least Squares", Phys. Rev. 40).
    """
    value, deviation = halving.pooled(told)
    squares = sum((each - value) ** 2 / variance for each, variance in told)
    return value, deviation * max(1.0, math.sqrt(squares / (len(told) - 1)))
