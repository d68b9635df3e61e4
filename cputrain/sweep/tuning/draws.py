"""Which levels the two sides of a round have: of some that are drawn, those that tell most."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError
from cputrain.run import placement, stacks
from cputrain.sweep.tuning import reduced
from cputrain.sweep.tuning.factors import Factor, Factors, Level, Side, values
from cputrain.sweep.tuning.reduced import AsRun

DRAWS = 12
"""Rounds that are drawn, of which one is run."""
VARIED = 0.8
"""Share of draws in which a factor differs: levels that take long may cost more than they tell."""
MAY_BE_BEST = 0.005
"""Chance of a level to be faster than the one that looks fastest, from which rounds have it."""
EXACT = 0.003
"""Standard deviation, of logarithms, of all that is open, at which rounds end."""

Sides = tuple[Side, Side]
Levels = Mapping[Factor, Sequence[Level]]


@dataclass(frozen=True)
class Draw:
    """A round that could be run.

    Attributes:
        sides: a level of each factor, of either side.
        experiments: of either side, whole.
    """

    sides: Sides
    experiments: tuple[Experiment, Experiment]


class Draws:
    """Draws rounds.

    Args:
        factors: what is varied, and what is known of it.
        as_run: what of an experiment is run.
        chance: to draw with.

    Attributes:
        shows: whether what is run differs by a level as the whole does.
    """

    def __init__(self, factors: Factors, as_run: AsRun, chance: random.Random) -> None:
        self._factors, self._as_run, self._chance = factors, as_run, chance
        every = [(factor, level) for factor in factors.every for level in factor.levels]
        self.shows = {level: self._does_show(factor, level) for factor, level in every}

    def best(self, variance: float, seconds: Callable[[Draw], float], left_s: float) -> Draw | None:
        """The round that tells most for a second.

        Args:
            variance: expected of the log ratio of a round.
            seconds: that a round takes.
            left_s: that it may take.

        Returns:
            None where nothing is open any more, or there is no time for any.
        """
        levels = self.open()
        if self._is_exact(levels):
            return None
        effects, can = self._factors.effects, []
        for draw in filter(None, (self._draw(levels) for _ in range(DRAWS))):
            needs_s = seconds(draw)
            told = effects.information(self._factors.weights(*draw.sides), variance)
            if told and needs_s <= left_s:
                can.append((told / needs_s, draw))
        every = (draw for _, draw in sorted(can, key=lambda each: each[0], reverse=True))
        return next((draw for draw in every if all(map(_can_be, draw.experiments))), None)

    def open(self) -> dict[Factor, list[Level]]:
        """The levels of each factor that may be the fastest: that one first, or alone."""
        effects, weights = self._factors.effects, self._factors.weights
        made: dict[Factor, list[Level]] = {}
        for factor in self._factors.every:
            can = [level for level in factor.levels if self.shows[level]]
            values_ = {
                level: effects.of(weights({factor: level}, {factor: factor.best}))[0]
                for level in can
            }
            fastest = min(can, key=lambda level: values_[level])
            beside = [
                level
                for level in can
                if level is not fastest
                and effects.chance_below(weights({factor: level}, {factor: fastest})) > MAY_BE_BEST
            ]
            made[factor] = [fastest, *beside]
        return made

    def _does_show(self, factor: Factor, level: Level) -> bool:
        """Whether what is run differs by a level as the whole does."""
        if level is factor.best:
            return True
        best = self._factors.best
        try:
            changed = specs.settle(best.but(**level.fields))
        except ExperimentError:
            return False
        return not reduced.hides(changed, best, self._as_run)

    def _is_exact(self, levels: Levels) -> bool:
        effects, weights = self._factors.effects, self._factors.weights
        return all(
            effects.of(weights({factor: level}, {factor: open_[0]}))[1] < EXACT
            for factor, open_ in levels.items()
            for level in open_[1:]
        )

    def _draw(self, levels: Levels) -> Draw | None:
        """One at random; None where a side cannot be."""
        one: dict[Factor, Level] = {}
        other: dict[Factor, Level] = {}
        for factor, open_ in levels.items():
            if len(open_) > 1 and self._chance.random() < VARIED:
                one[factor], other[factor] = self._chance.sample(open_, 2)
            else:
                held = [*open_, *([factor.best] if len(open_) > 1 else [])]
                one[factor] = other[factor] = self._chance.choice(held)
        first, second = self._made(one), self._made(other)
        if first is None or second is None:
            return None
        return Draw((one, other), (first, second))

    def _made(self, side: Side) -> Experiment | None:
        """The settings of a side; None where its levels cannot be together."""
        fields = {name: value for level in side.values() for name, value in level.fields.items()}
        try:
            experiment = specs.settle(self._factors.best.but(**fields))
        except ExperimentError:
            return None
        is_kept = all(values(experiment, each.fields) == each.fields for each in side.values())
        return experiment if is_kept else None


def _can_be(experiment: Experiment) -> bool:
    return placement.why_not(experiment, stacks.MAIN) is None
