"""Updates that were timed by themselves, as rows that coefficients are fitted to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cputrain.analysis.cost import scope
from cputrain.analysis.cost.fit import Array, Rows
from cputrain.analysis.cost.observed import Observation
from cputrain.analysis.cost.terms import TERMS
from cputrain.model import on_paper

UPDATE_SD = 0.1
"""Of the logarithm of the update's share of a step: its seconds are bytes over one rate within 5 to
10 % in the median (own C, eight sessions)."""


def shares(ratios: Sequence[Observation], counted: Array, engine: str) -> Rows | None:
    """What the update takes of the steps, where nothing but the term `optimizer` tells it.

    Weights and update have as many numbers but for micro-batches: steps alone do not tell them
    apart. Where the update is handed out tensor by tensor that takes time too (torch: 11 to 17 us
    for each), which no term has.

    Args:
        ratios: of an engine's cells.
        counted: their terms, in seconds for a coefficient of 1.
        engine: its name.
    """
    if not on_paper.of(scope.plain(engine)).updates_at_once:
        return None
    update = np.zeros_like(counted)
    place = list(TERMS).index("optimizer")
    update[:, place] = counted[:, place]
    logs = np.log([ratio.update_share or math.nan for ratio in ratios])
    return Rows(update, counted, logs, np.full(len(logs), UPDATE_SD))
