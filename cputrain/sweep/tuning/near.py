"""Changes that no race has told from the best settings: how near they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from cputrain.analysis.tuning import halving
from cputrain.engines import specs
from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.incumbent import Incumbent

WORTH_A_TEST = 0.97
"""Ratio of a change that no race has told: one that is nearer to 1 is the same anyway."""


def changes(races: Sequence[Race], incumbent: Incumbent) -> dict[str, Raced]:
    """By knob, the best change that was not surely faster, but not slower; the best first."""
    taken = {each.knob for each in incumbent.adopted}
    near: dict[str, Raced] = {}
    for race in races:
        for raced in race.candidates if race.knob not in taken else []:
            has_value = raced.log_ratios and raced.outcome != "failed"
            if has_value and _value(raced) < min(0.0, _value(near.get(race.knob))):
                near[race.knob] = raced
    return dict(sorted(near.items(), key=lambda item: _value(item[1])))


def likeliest(races: Sequence[Race], incumbent: Incumbent) -> Incumbent:
    """The incumbent; where it has no change, the one change that looked best, if one did.

    No race has told that it is faster, for lack of time mostly: the test may.
    """
    near = [] if incumbent.adopted else list(changes(races, incumbent).items())
    for knob, raced in near[:1]:
        if _value(raced) < math.log(WORTH_A_TEST):
            experiment = specs.settle(incumbent.best.but(**raced.changes))
            return incumbent.plus(knob, TuningCandidate(raced.label, raced.changes, experiment))
    return incumbent


def is_beside_winner(raced: Raced, race: Race) -> bool:
    """Whether it may be as fast as the winner of its race: another knob's race is to tell."""
    won = race.adopted
    if won is None or won is raced or not raced.log_ratios or raced.outcome == "failed":
        return False
    noise = halving.noise([each.log_ratios for each in race.candidates])
    return not halving.is_slower(raced.log_ratios, won.log_ratios, noise)


def _value(raced: Raced | None) -> float:
    return 0.0 if raced is None else statistics.median(raced.log_ratios)
