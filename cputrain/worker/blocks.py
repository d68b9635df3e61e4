"""How many steps a block has, and which side of a pair runs first. Standard library only."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from cputrain.experiment import Experiment

Side = Literal["cell", "reference"]

BLOCK_S = 0.05
"""Seconds of a block, about. On a shared host step times change by 10 % within half a second: many
short blocks tell more than few long ones in the same time (docs/paired.md)."""
HEAVY_S = 0.3
"""Step time from which no step is discarded: what the first one after a stop loses, one to four
milliseconds, is about a percent of it, and both sides of a pair lose it."""
PAIRS_S = 1.5
"""Seconds for the pairs of a cell in the first pass, about: long blocks are fewer."""
ALONE_S = 2.0
"""The same for the blocks of a cell that is measured beside nothing."""
FEWEST_PAIRS = 2
AGAIN_S = 1.0
"""Seconds of the steps of a pair up to which it may be taken again: on a shared host a long one is
spoilt as often the second time."""
FAR = 3.0
"""Ratio of two warm steps from which a few pairs will do: no noise comes near it."""


def steps(experiment: Experiment, step_s: float | None) -> int:
    """Timed steps of a block: as the experiment says, or one for each `BLOCK_S`, one at least.

    Args:
        step_s: seconds of a step once warm; None where a first step is timed, which is one.
    """
    if experiment.budget.steps is not None:
        return experiment.budget.steps
    return 1 if step_s is None else max(1, round(BLOCK_S / step_s))


def discarded(step_s: float | None) -> int:
    """Steps that run before the timed ones, off the clock."""
    return 0 if step_s is None or step_s >= HEAVY_S else 1


@dataclass(frozen=True)
class SideSeconds:
    """Seconds of one side of a pair.

    Attributes:
        step_s: of a warm step; None where a first step is timed.
        block_s: of a block, with what is discarded before it.
    """

    step_s: float | None
    block_s: float


def side(experiment: Experiment, step_s: float | None) -> SideSeconds:
    """Of a worker whose warm step takes `step_s`."""
    in_block = steps(experiment, step_s) + discarded(step_s)
    return SideSeconds(step_s, in_block * (step_s or 0.0))


def pairs(most: int, cell: SideSeconds, reference: SideSeconds, within_s: float = PAIRS_S) -> int:
    """How many pairs a pass takes, by how long steps are once warm.

    It is decided before the first block, so what blocks say has no part in it.

    Args:
        most: as many as a cell of short steps has.
        cell, reference: the two sides.
        within_s: seconds for them, about.
    """
    fewest = min(FEWEST_PAIRS, most)
    if cell.step_s and reference.step_s:
        ratio = cell.step_s / reference.step_s
        if max(ratio, 1 / ratio) >= FAR:
            return fewest
    return max(fewest, min(most, round(within_s / (cell.block_s + reference.block_s))))


def may_be_again(spoilt: int, wanted: int, pair_s: float, lacks: bool) -> bool:
    """Whether a pair that others spoilt is taken again, which takes less than a further pass.

    Half as many are as are wanted: where others have the CPUs all the time none would be better.
    It is the time of a pair that does not count; no pair counts, or not, by its time.

    Args:
        spoilt: pairs of the cell that were taken again already.
        wanted: pairs.
        pair_s: seconds of its steps.
        lacks: whether a CPU was moved during it, and fewer than `FEWEST_PAIRS` could count without
            another one: as many are then as are wanted, since where it was moved to it stays for
            some tenths of a second.
    """
    return pair_s <= AGAIN_S and spoilt < (wanted if lacks else wanted // 2)


def alone(most: int, cell: SideSeconds) -> int:
    """How many blocks of a cell that is measured beside nothing, and has no interval."""
    return max(1, min(most, round(ALONE_S / cell.block_s)))


def order(seed: str, pair: int) -> tuple[Side, Side]:
    """Who runs first in a pair: ABBA, and the seed says who is A.

    Args:
        seed: any text, recorded.
        pair: its number, from 0.
    """
    swapped = (hashlib.sha256(seed.encode()).digest()[0] + pair) % 2
    return ("reference", "cell") if swapped else ("cell", "reference")
