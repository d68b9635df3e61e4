"""What the races of a tuning say to one that follows it with the same model."""

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
    effects = []
    for race in races:
        noise = halving.noise([raced.log_ratios for raced in race.candidates])
        for raced in race.candidates:
            if raced.outcome == "failed" or not raced.log_ratios:
                continue
            changes = known.changes(specs.settle(default.but(**raced.changes)), default)
            if "engine" in changes:
                continue
            of = halving.standing(raced.log_ratios, noise)
            value, low, high = (math.exp(log) for log in (of.value, of.low, of.high))
            is_told = len(raced.log_ratios) > 1
            engine = default.runtime.engine
            effects.append(Known(engine, changes, value, low, high, is_told))
        if race.adopted is not None:
            break
    return effects
