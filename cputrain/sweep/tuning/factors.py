"""What races have tried, as levels of factors, and what is known of these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis.tuning import additive, halving
from cputrain.analysis.tuning.additive import Contrast, Effects
from cputrain.analysis.tuning.halving import RaceEvidence
from cputrain.experiment import Experiment
from cputrain.record.tuning import Fields, Race
from cputrain.sweep.tuning import candidates
from cputrain.sweep.tuning.incumbent import Incumbent
from cputrain.sweep.tuning.knobs import in_words

USUAL = 0.97
"""Time that the best value leaves of a knob of which that is not known."""


@dataclass(frozen=True, eq=False)
class Level:
    """Values of a factor's fields.

    Attributes:
        label: for people.
        fields: by name.
        number: of its effect.
    """

    label: str
    fields: Fields
    number: int


@dataclass(frozen=True, eq=False)
class Factor:
    """Fields that are changed together, and the values that they have had.

    Attributes:
        knob: whose race was the first to change them.
        usual: the level of the settings as they were described.
        best: that of the best so far.
        levels: all of them.
    """

    knob: str
    usual: Level
    best: Level
    levels: list[Level]

    @property
    def name(self) -> str:
        """Its fields."""
        return ", ".join(self.usual.fields)


Side = Mapping[Factor, Level]
"""Settings: the best so far with a level of each factor."""
Told = tuple[Side, Side, RaceEvidence]
"""Settings, others beside them, and their log ratios."""


class Factors:
    """All factors of a tuning; the effect of each level is told by races, and by rounds.

    Args:
        races: that have ended.
        incumbent: the best so far.
        expected: by knob, the time that its best value usually leaves.
        without: the race of the best so far without one change each.

    Attributes:
        every: in the order of their races.
        log_ratios: of the races.
    """

    def __init__(
        self,
        races: Sequence[Race],
        incumbent: Incumbent,
        expected: Mapping[str, float],
        without: Race | None = None,
    ) -> None:
        self.best, self._default = incumbent.best, incumbent.default
        self.every: list[Factor] = []
        self._expected, self._priors = expected, list[float]()
        every = [*races, *([] if without is None else [without])]
        self.log_ratios = [raced.log_ratios for race in every for raced in race.candidates]
        told = [*self._of_races(races), *self._of_without(without)]
        self._by_races = [self._contrast(each) for each in told]
        self.contrasts = self._by_races

    def learn(self, told: Sequence[Told]) -> None:
        """Take in all rounds so far."""
        self.contrasts = [*self._by_races, *(self._contrast(each) for each in told)]

    @property
    def effects(self) -> Effects:
        """Of the levels, by their numbers."""
        return additive.estimate(self.contrasts, self._priors)

    def side(self, experiment: Experiment) -> Side:
        """The levels that an experiment has."""
        each = ((factor, values(experiment, factor.usual.fields)) for factor in self.every)
        return {factor: self._level(factor, fields) for factor, fields in each}

    def weights(self, own: Side, beside: Side) -> tuple[float, ...]:
        """Of the effects, in the log ratio of settings over others."""
        made = [0.0] * len(self._priors)
        for factor in own:
            made[own[factor].number] += 1.0
            made[beside[factor].number] -= 1.0
        return tuple(made)

    def _contrast(self, told: Told) -> Contrast:
        own, beside, evidence = told
        return Contrast(self.weights(own, beside), evidence.median, evidence.variance)

    def _of_races(self, races: Sequence[Race]) -> Iterator[Told]:
        """What races of the best so far's engine tell."""
        for race in races:
            reference = Experiment.from_json(race.reference)
            if reference.runtime.engine != self.best.runtime.engine:
                continue
            for factor, changed, evidence in self._changes(race):
                beside = self._level(factor, values(reference, changed.fields))
                yield {factor: changed}, {factor: beside}, evidence

    def _of_without(self, race: Race | None) -> Iterator[Told]:
        """What the best settings tell of a change that runs beside themselves without it."""
        for factor, changed, evidence in [] if race is None else self._changes(race):
            yield {factor: factor.usual}, {factor: changed}, evidence

    def _changes(self, race: Race) -> Iterator[tuple[Factor, Level, RaceEvidence]]:
        """The changes of a race that keep the engine and have a ratio."""
        noise = halving.noise([each.log_ratios for each in race.candidates])
        for raced in race.candidates:
            if raced.outcome != "failed" and raced.log_ratios and "engine" not in raced.changes:
                factor = self._factor(raced.changes, race.knob)
                changed = self._level(factor, raced.changes, raced.label)
                yield factor, changed, RaceEvidence(raced.log_ratios, noise)

    def _factor(self, changes: Fields, knob: str) -> Factor:
        known = (each for each in self.every if each.usual.fields.keys() == changes.keys())
        factor = next(known, None)
        if factor is None:
            usual = self._made(knob, values(self._default, changes))
            now = values(self.best, changes)
            best = usual if now == usual.fields else self._made(knob, now)
            factor = Factor(knob, usual, best, [usual] if best is usual else [usual, best])
            self.every.append(factor)
        return factor

    def _level(self, factor: Factor, fields: Fields, label: str | None = None) -> Level:
        known = next((each for each in factor.levels if each.fields == fields), None)
        if known is None:
            known = self._made(factor.knob, fields, label)
            factor.levels.append(known)
        return known

    def _made(self, knob: str, fields: Fields, label: str | None = None) -> Level:
        # Two levels differ by what is usual of their knob if each has 0.7 of it.
        self._priors.append(abs(math.log(self._expected.get(knob, USUAL))) / math.sqrt(2))
        words = ", ".join(in_words(name, value) for name, value in fields.items())
        return Level(label or words, fields, len(self._priors) - 1)


def values(experiment: Experiment, of: Fields) -> Fields:
    """What an experiment has for the fields of some changes."""
    flat = experiment.flat()
    return candidates.fields({name: flat[name] for name in of})
