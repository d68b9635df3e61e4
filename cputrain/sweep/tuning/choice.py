"""The levels that settings are made of: by what races and rounds say of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from cputrain.analysis.tuning import halving
from cputrain.analysis.tuning.additive import Effects
from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError
from cputrain.record.rounds import LevelEffect
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.factors import Factor, Factors, Level, values
from cputrain.sweep.tuning.incumbent import Incumbent

LIKELY, WORTH = 0.95, 0.005
"""Chance of a level to be faster than the usual one, and by how much as a logarithm, from which it
is chosen by itself: several of half a hundredth are worth a change together."""
KEPT = 0.5
"""The chance from which the best so far keeps one, as its race told it to be faster."""


Chance = Callable[[Level], float]
"""From which a level is likely faster than the usual one of its factor."""


def chosen(factors: Factors, incumbent: Incumbent, chance: Chance = lambda _: LIKELY) -> Incumbent:
    """The best so far with the level of each factor that is fastest by what is known.

    That is another one than the usual only where it is likely faster, or won its race and does not
    look slower since. Of what cannot be together what gives more is taken.
    """
    effects = factors.effects
    changes: list[tuple[float, Factor, Level]] = []
    for factor in factors.every:
        level = _fastest(factors, factor, effects, chance)
        if level is not factor.best:
            gain, _ = effects.of(factors.weights({factor: level}, {factor: factor.best}))
            changes.append((gain, factor, level))
    for _, factor, level in sorted(changes, key=lambda change: change[0]):
        try:
            incumbent = _with(incumbent, factor, level)
        except ExperimentError:
            continue  # not beside what gives more
    return incumbent


def _fastest(factors: Factors, factor: Factor, effects: Effects, chance: Chance) -> Level:
    """See `chosen`."""
    beside_usual = {
        level: factors.weights({factor: level}, {factor: factor.usual}) for level in factor.levels
    }
    fastest = min(factor.levels, key=lambda level: effects.of(beside_usual[level])[0])
    value, _ = effects.of(beside_usual[fastest])
    if value < -WORTH and effects.chance_below(beside_usual[fastest]) >= chance(fastest):
        return fastest
    has_won = effects.chance_below(beside_usual[factor.best]) > KEPT
    return factor.best if has_won else factor.usual


def _with(incumbent: Incumbent, factor: Factor, level: Level) -> Incumbent:
    """Raises ExperimentError where the settings cannot have it."""
    names = factor.usual.fields.keys()
    rest = [each for each in incumbent.adopted if each.candidate.changes.keys() != names]
    if level is factor.usual and len(rest) < len(incumbent.adopted):
        return incumbent.only(rest)
    experiment = specs.settle(incumbent.best.but(**level.fields))
    return incumbent.plus(factor.knob, TuningCandidate(level.label, level.fields, experiment))


def told(factors: Factors, winner: Experiment) -> list[LevelEffect]:
    """What is known of each level over the usual one of its factor, with 90 % intervals.

    Args:
        winner: the settings that are put to the test.
    """
    effects = factors.effects
    wide = NormalDist().inv_cdf((1 + halving.LEVEL) / 2)
    made: list[LevelEffect] = []
    for factor in factors.every:
        for level in factor.levels:
            if level is factor.usual:
                continue
            weights = factors.weights({factor: level}, {factor: factor.usual})
            value, error = effects.of(weights)
            low, high = value - wide * error, value + wide * error
            effect = LevelEffect(
                label=level.label,
                ratio=(math.exp(value), math.exp(low), math.exp(high)),
                is_chosen=values(winner, level.fields) == level.fields,
            )
            made.append(effect)
    return made
