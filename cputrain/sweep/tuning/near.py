"""Changes that no race has told from the best settings: how near they are."""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Sequence

from cputrain.analysis.tuning import halving
from cputrain.engines import specs
from cputrain.experiment import ExperimentError
from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.incumbent import Incumbent

WORTH_A_TEST = 0.97
"""Ratio of a change that no race has told: one that is nearer to 1 is the same anyway."""


def likeliest(races: Sequence[Race], incumbent: Incumbent) -> Incumbent:
    """The incumbent, or where it is the default the change of it that looked best, if by 3 %.

    For lack of time mostly; the test may tell.
    """
    if incumbent.adopted:
        return incumbent
    engine = incumbent.best.runtime.engine
    near = [
        (statistics.median(raced.log_ratios), race.knob, raced)
        for race in races
        for raced in race.candidates
        if race.reference["runtime"]["engine"] == engine
        and raced.log_ratios
        and raced.outcome != "failed"
    ]
    for value, knob, raced in sorted(near, key=lambda each: each[0]):
        if value < math.log(WORTH_A_TEST):
            with contextlib.suppress(ExperimentError):
                experiment = specs.settle(incumbent.best.but(**raced.changes))
                change = TuningCandidate(raced.label, raced.changes, experiment)
                return incumbent.plus(knob, change)
    return incumbent


def is_beside_winner(raced: Raced, race: Race) -> bool:
    """Whether it may be as fast as the winner of its race: another knob's race is to tell."""
    won = race.adopted
    if won is None or won is raced or not raced.log_ratios or raced.outcome == "failed":
        return False
    noise = halving.noise([each.log_ratios for each in race.candidates])
    return not halving.is_slower(raced.log_ratios, won.log_ratios, noise)
