"""The rows of a machine's cells with what needs other cells: intervals, effects, noise floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis import by_engine, interval, noise_floor
from cputrain.analysis.disturbed import is_disturbed
from cputrain.analysis.interval import Estimate, Measured
from cputrain.results import columns
from cputrain.results.columns import Peaks, Row
from cputrain.results.rows import CellResult


@dataclass(frozen=True)
class Analysis:
    """What one machine's cells say together.

    Attributes:
        rows: one for each cell, with intervals and effects.
        floors: noise floor by engine, None for a suite without engines; empty without A/A cells.
        pairs: of A/A cells.
    """

    rows: list[Row]
    floors: Mapping[str | None, float]
    pairs: noise_floor.Pairs


def analyse(cells: Sequence[CellResult], peaks: Peaks) -> Analysis:
    """What the cells of one machine say together.

    Args:
        cells: all of them.
        peaks: of the machine.
    """
    rows = [columns.row(cell, peaks) for cell in cells]
    measured = [index for index, cell in enumerate(cells) if cell.ok and cell.workers]
    replicated = {cells[i].workers[0].session for i in measured if len(cells[i].workers) > 1}
    made = interval.estimates([_measured(cells[i], replicated) for i in measured])
    known: dict[int, Estimate] = dict(zip(measured, made, strict=True))
    floors = noise_floor.floors(
        (cell, row["step_s"]) for cell, row in zip(cells, rows, strict=True) if row["step_s"]
    )
    places = {(cell.suite, cell.value): index for index, cell in enumerate(cells)}
    for index, estimate in known.items():
        row = rows[index]
        if estimate.interval:
            row |= {"step_s_low": estimate.interval.low, "step_s_high": estimate.interval.high}
        _say(row, estimate.reason)
        baseline = cells[index].key.baseline
        if baseline is None:
            continue
        engine = by_engine.engine(cells[index])
        noise = noise_floor.of_engine(floors, engine or row["engine"])
        base = places.get((cells[index].suite, baseline))
        if base is None or base not in known:
            _say(row, "no baseline cell to compare with")
            continue
        row["effect"] = row["step_s"] / rows[base]["step_s"]
        if index == base:
            row |= {"effect_low": 1.0, "effect_high": 1.0}
            row["above_noise"] = None if noise is None else False
            continue
        ratio = interval.effect(estimate, known[base])
        if ratio:
            row |= {"effect_low": ratio.low, "effect_high": ratio.high}
        judged = not (is_disturbed(row) or is_disturbed(rows[base]))
        row["above_noise"] = noise_floor.is_above(ratio, noise) if judged else None
        if row["session"] != rows[base]["session"]:
            _say(row, "not of the baseline's session")
    identical = [(cells[i], known[i]) for i in measured if cells[i].suite == noise_floor.SUITE]
    return Analysis(rows, floors, noise_floor.pairs(identical))


def _say(row: Row, words: str | None) -> None:
    row["reason"] = "; ".join(filter(None, (row["reason"], words))) or None


def _measured(cell: CellResult, replicated: set[str]) -> Measured:
    """A cell's steps, and whose workers are its workers' like.

    Workers of one experiment in one suite take turns in time, in two suites they do not: they
    count as replicates across suites only where each cell has a single worker. Threads that
    take turns on a CPU vary in a way of their own, so they are a pool of their own.
    """
    last = cell.workers[-1]
    session = last.session
    suite = cell.suite if session in replicated else None
    crowded = last.place.threads > len(last.place.cpus)
    return Measured(
        steps=tuple(tuple(worker.step_s) for worker in cell.workers),
        like=(session, suite, last.identity, crowded),
        pool=(session, crowded),
        step_s=cell.step_s,
    )
