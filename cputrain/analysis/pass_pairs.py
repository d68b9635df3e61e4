"""How many pairs a further pass has: what makes effects narrow in the least time."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.noises import LearnedNoise, NoiseKey, Noises
from cputrain.analysis.paired import planning
from cputrain.analysis.paired.forecast import FEWEST_PAIRS
from cputrain.analysis.pass_seconds import pass_s
from cputrain.results.rows import CellResult

TRIES = 1.5
"""Pairs that are tried at most for each that is wanted: see `worker.blocks.may_be_again`."""


@dataclass(frozen=True)
class FurtherPairs:
    """The pairs of a further pass.

    Attributes:
        taken: of it.
        counting: that others may be expected to leave of these.
    """

    taken: int = FEWEST_PAIRS
    counting: int = FEWEST_PAIRS


PassPairs = Mapping[NoiseKey, FurtherPairs]
"""By session and engine."""


def learn(cells: Sequence[CellResult], noises: Noises) -> PassPairs:
    """Of each engine in each session, by its noise and by what starting its usual cell costs.

    Args:
        cells: of one machine.
        noises: of them.
    """
    costs: dict[str, tuple[float, float]] = {}
    for engine in {key.engine for key in noises.learned}:
        of_engine = [c for c in cells if c.ok and c.workers and identical.engine(c) == engine]
        last = [cell.workers[-1] for cell in of_engine if cell.workers[-1].pairs]
        if last:
            start_s, with_pair_s = (statistics.median(pass_s(w, n) for w in last) for n in (0, 1))
            if with_pair_s > start_s:  # else it is said to take less than its blocks
                costs[engine] = start_s, with_pair_s - start_s
    return {
        key: FurtherPairs(taken, _counting(taken, learned))
        for key, learned in noises.learned.items()
        if learned.noise is not None and key.engine in costs
        for taken in (planning.pairs_per_pass(learned.noise, *costs[key.engine]),)
    }


def _counting(taken: int, learned: LearnedNoise) -> int:
    tried = learned.pairs.pairs
    share = 1 - learned.pairs.dropped / tried if tried else 1.0
    return max(1, round(taken * min(1.0, TRIES * share)))


def of_cell(cell: CellResult, known: PassPairs) -> FurtherPairs:
    """Those of a cell, in the session that measured it last.

    Args:
        cell: with workers.
        known: of its machine.
    """
    engine = identical.engine(cell)
    if engine is None:
        return FurtherPairs()
    return known.get(NoiseKey(cell.workers[-1].session, engine), FurtherPairs())
