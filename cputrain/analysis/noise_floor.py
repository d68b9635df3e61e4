"""How far identical experiments lie apart on a machine: below that, no effect is believed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from cputrain.analysis import interval
from cputrain.analysis.interval import Estimate, Interval

SUITE = "Baseline"
"""The A/A suite: the same experiment in every cell."""


def floor(step_s: Sequence[float]) -> float | None:
    """The largest ratio between two cells of the A/A suite, less 1; None with fewer than two."""
    if len(step_s) < 2:
        return None
    return max(step_s) / min(step_s) - 1


@dataclass(frozen=True)
class Pairs:
    """How many of `all` pairs of A/A cells the interval calls different, wrongly so."""

    different: int
    all: int


def pairs(cells: Sequence[Estimate]) -> Pairs:
    """Compare every two cells of the A/A suite; pairs without an interval do not count."""
    effects = [interval.effect(one, other) for one, other in combinations(cells, 2)]
    known = [effect for effect in effects if effect is not None]
    return Pairs(sum(effect.high < 1 or effect.low > 1 for effect in known), len(known))


def is_above(effect: Interval | None, noise: float | None) -> bool | None:
    """Whether an effect's interval excludes 1 and the effect exceeds the floor; None if unknown."""
    if effect is None or noise is None:
        return None
    differs = effect.high < 1 or effect.low > 1
    return differs and abs(math.log(effect.value)) > math.log1p(noise)
