"""Engines beside torch: each one's step time, and its ratio to torch's with interval and verdict.

A ratio is the median over pairs of neighbouring blocks, as every effect is; a round is a pass. The
row of torch is an A/A pair: torch beside another worker of the same. How far workers of another
engine are apart is learned from its own rounds, as far as they tell, and from torch's A/A pairs
(`paired.noise.OF_ENGINE`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis import places
from cputrain.analysis.cell_effect import CellEffect, cell_effect
from cputrain.analysis.counted import counted
from cputrain.analysis.paired import noise
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.analysis.places import Places
from cputrain.analysis.releases import losses
from cputrain.analysis.slowdowns import Slowdowns
from cputrain.record.releases import TakenPair
from cputrain.results import columns
from cputrain.results.columns import Row
from cputrain.results.engines import PAIRED, SCHEMA
from cputrain.results.rates import Peaks
from cputrain.results.rows import CellResult
from cputrain.run.names import FIRST

DISTURBED = "others had the CPUs during each of its pairs: see python3 bench.py doctor"


@dataclass(frozen=True)
class Measured:
    """One engine at one shape and number of threads.

    Attributes:
        cell: `values` are shape, engine, threads; workers have a turn.
        pairs: its workers beside torch's, in the order of time.
    """

    cell: CellResult
    pairs: Sequence[TakenPair]


def analyse(measured: Sequence[Measured], peaks: Peaks) -> list[Row]:
    """A row for each cell, in their order.

    Args:
        measured: of one run.
        peaks: of the machine.
    """
    at = places.learn(worker for each in measured for worker in each.cell.workers)
    known = _noises(measured, at)
    rows = []
    for each in measured:
        row = _row(each.cell, peaks)
        if each.cell.ok:
            _tell(row, each, known.get(_like(each)), at)
        rows.append(row)
    return rows


def _row(cell: CellResult, peaks: Peaks) -> Row:
    turns = [worker.turn for worker in cell.workers if worker.turn]
    every = columns.row(cell, peaks) | {
        "compute_threads": cell.values[2],
        "seed": turns[0].seed if turns else None,
        "order": " ".join(str(turn.place) for turn in turns) or None,
        **dict.fromkeys(PAIRED),
    }
    return {name: every[name] for name in SCHEMA}


def _is_first(each: Measured) -> bool:
    return bool(each.cell.values[1] == FIRST)


def _like(each: Measured) -> tuple[str, bool]:
    """What has one noise: an engine beside torch, or torch beside itself."""
    assert each.cell.experiment is not None
    return str(each.cell.experiment["runtime"]["engine"]), _is_first(each)


def _noises(measured: Sequence[Measured], at: Places) -> dict[tuple[str, bool], EngineNoise | None]:
    ran = [each for each in measured if each.cell.ok]
    identical = counted(w for each in ran if _is_first(each) for w in each.cell.workers).passes
    learned = {}
    for like in dict.fromkeys(map(_like, ran)):
        cells = [counted(each.cell.workers, at).passes for each in ran if _like(each) == like]
        if like[1]:
            learned[like] = noise.learn(identical)
        else:
            own = [passes for passes in cells if passes]
            learned[like] = noise.learn((), own, of_another=identical, apart=noise.OF_ENGINE)
    return learned


def _tell(row: Row, each: Measured, known: EngineNoise | None, at: Places) -> None:
    """Say what its pairs say, or why they say nothing."""
    pairs, agreed = counted(each.cell.workers, at), losses.agreement(each.pairs)
    row["dropped_pairs"] = pairs.dropped
    if agreed.why_no_ratio is not None:
        columns.add_reason(row, agreed.why_no_ratio)
    elif not pairs.passes:
        columns.add_reason(row, DISTURBED)
    else:
        its = cell_effect(each.cell.workers, pairs, known, at, Slowdowns(at.usual))
        row |= _columns(its)
        for words in (its.effect.reason, *its.doubts):
            columns.add_reason(row, words)
        if not _is_first(each):
            row |= _verdict(its)


def _columns(its: CellEffect) -> Mapping[str, float | None]:
    made = its.effect
    return {
        "over_torch": made.value,
        "over_torch_low": made.low,
        "over_torch_high": made.high,
        "passes": made.passes,
        "pairs": made.pairs,
    }


def _verdict(its: CellEffect) -> Mapping[str, str | int | None]:
    said = its.verdict
    return {"verdict": said.word, "further_passes": said.further_passes, "doubt": its.doubt}
