"""Changes that no race has told from the best settings: how near they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from cputrain.analysis.tuning import halving
from cputrain.engines import specs
from cputrain.experiment import ExperimentError
from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.incumbent import Incumbent

TOGETHER = "those that looked faster, together"
"""What the race is called in which they are tried so."""
WORTH_A_TEST = 0.97
"""Ratio of a change that no race has told: one that is nearer to 1 is the same anyway."""


def changes(races: Sequence[Race], incumbent: Incumbent) -> dict[str, Raced]:
    """By knob, the best change that was not surely faster, but not slower; the best first.

    Of races of the incumbent's engine: another one has none of its settings, or its own.
    """
    taken = {each.knob for each in incumbent.adopted}
    near: dict[str, Raced] = {}
    for race in races:
        is_of_engine = race.reference["runtime"]["engine"] == incumbent.best.runtime.engine
        for raced in race.candidates if is_of_engine and race.knob not in taken else []:
            has_value = raced.log_ratios and raced.outcome != "failed"
            if has_value and _value(raced) < min(0.0, _value(near.get(race.knob))):
                near[race.knob] = raced
    return dict(sorted(near.items(), key=lambda item: _value(item[1])))


def likeliest(races: Sequence[Race], incumbent: Incumbent) -> Incumbent:
    """The incumbent with the changes that are likely, though no race has told one to be faster.

    For lack of time mostly; the test may. Likely is what was faster by the 90 % interval of its
    race, of what raced together the joined change alone; where nothing was adopted, what looked
    best.
    """
    together = any(race.knob == TOGETHER and race.candidates for race in races)
    for knob, raced in changes(races, incumbent).items():
        is_told = together and knob != TOGETHER
        is_likely = not incumbent.adopted or (not is_told and _is_faster(raced, races))
        if is_likely and _value(raced) < math.log(WORTH_A_TEST):
            try:
                experiment = specs.settle(incumbent.best.but(**raced.changes))
            except ExperimentError:
                continue  # not beside what was adopted
            change = TuningCandidate(raced.label, raced.changes, experiment)
            incumbent = incumbent.plus(knob, change)
    return incumbent


def _is_faster(raced: Raced, races: Sequence[Race]) -> bool:
    """By the 90 % interval of its race."""
    race = next(each for each in races if raced in each.candidates)
    noise = halving.noise([each.log_ratios for each in race.candidates])
    return halving.standing(raced.log_ratios, noise).high < 0


def is_beside_winner(raced: Raced, race: Race) -> bool:
    """Whether it may be as fast as the winner of its race: another knob's race is to tell."""
    won = race.adopted
    if won is None or won is raced or not raced.log_ratios or raced.outcome == "failed":
        return False
    noise = halving.noise([each.log_ratios for each in race.candidates])
    return not halving.is_slower(raced.log_ratios, won.log_ratios, noise)


def _value(raced: Raced | None) -> float:
    return 0.0 if raced is None else statistics.median(raced.log_ratios)
