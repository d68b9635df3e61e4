"""What the races of a tuning say to those that follow, and to a tuning of the same model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cputrain.analysis.tuning import halving, known
from cputrain.analysis.tuning.known import Known
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record.tuning import Race


def told(races: Sequence[Race], default: Experiment) -> list[Known]:
    """The effects of changes that raced beside the default settings and kept their engine.

    After a change was adopted its settings are the reference, which tells nothing of the default.

    Args:
        races: of the earlier tuning, in their order.
        default: its settled experiment.

    Returns:
        Each with the 90 % interval of its race.
    """
    effects: list[Known] = []
    for race in races:
        effects += of_race(race, default)
        if race.adopted is not None:
            break
    return effects


def of_race(race: Race, best: Experiment) -> list[Known]:
    """The effects of a race's changes that kept the engine of the best settings so far, `best`."""
    effects = []
    noise = halving.noise([raced.log_ratios for raced in race.candidates])
    for raced in race.candidates:
        if raced.outcome == "failed" or not raced.log_ratios:
            continue
        changes = known.changes(specs.settle(best.but(**raced.changes)), best)
        if "engine" in changes:
            continue
        of = halving.standing(raced.log_ratios, noise)
        value, low, high = (math.exp(log) for log in (of.value, of.low, of.high))
        is_told = len(raced.log_ratios) > 1
        effects.append(Known(best.runtime.engine, changes, value, low, high, is_told))
    return effects
