"""How many steps a block has, and which side of a pair runs first. Standard library only."""

from __future__ import annotations

import hashlib
from typing import Literal

from cputrain.experiment import Experiment

Side = Literal["cell", "reference"]

BLOCK_S = 0.1
"""Seconds of a block, about. On a shared host step times change by 10 % within half a second: many
short blocks tell more than few long ones in the same time (docs/paired.md)."""
FEWEST = 3
"""Steps of a block at least, where they are short: their median leaves out one that was hit."""
LONG_S = 0.1
"""Step time from which a block has as many steps as fit into a little more than `BLOCK_S`."""
HEAVY_S = 0.3
"""Step time from which no step is discarded: what the first one after a stop loses, one to four
milliseconds, is about a percent of it, and both sides of a pair lose it."""


def steps(experiment: Experiment, step_s: float | None) -> int:
    """Timed steps of a block: as the experiment says, or by the time of a warm step.

    Args:
        step_s: seconds of a step once warm; None where a first step is timed, which is one.
    """
    if experiment.budget.steps is not None:
        return experiment.budget.steps
    if step_s is None:
        return 1
    if step_s < LONG_S:
        return max(FEWEST, round(BLOCK_S / step_s))
    return max(1, round(1.25 * BLOCK_S / step_s))


def discarded(step_s: float | None) -> int:
    """Steps that run before the timed ones, off the clock."""
    return 0 if step_s is None or step_s >= HEAVY_S else 1


def order(seed: str, pair: int) -> tuple[Side, Side]:
    """Who runs first in a pair: ABBA, and the seed says who is A.

    Args:
        seed: any text, recorded.
        pair: its number, from 0.
    """
    swapped = (hashlib.sha256(seed.encode()).digest()[0] + pair) % 2
    return ("reference", "cell") if swapped else ("cell", "reference")
