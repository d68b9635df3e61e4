"""Engines of one interleaved run: each one's step time, and its ratio to torch's.

A ratio is taken within a round, of two workers that ran close together in time, so that the
machine's slow changes cancel; the median over the rounds is the value. Its interval is that of
`interval`, with the pairs in the place of workers: how far pairs lie apart is learned from all
engines of the run together.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from cputrain.analysis.side_by_side import interval
from cputrain.analysis.side_by_side.interval import Estimate, Interval, Measured
from cputrain.results import columns
from cputrain.results.columns import Row
from cputrain.results.engines import RATIO, SCHEMA
from cputrain.results.rates import Peaks
from cputrain.results.rows import CellResult
from cputrain.run.names import AGAIN, FIRST

NO_TORCH = "torch has no number to compare with"
NO_INTERVAL = "no interval of the ratio: too few rounds"


def analyse(cells: Sequence[CellResult], peaks: Peaks) -> list[Row]:
    """A row for each cell, in their order.

    Args:
        cells: `values` are shape, engine, threads; workers have a turn.
        peaks: of the machine.
    """
    rows = [_row(cell, peaks) for cell in cells]
    measured = [i for i, cell in enumerate(cells) if cell.ok]
    times = interval.estimates([_measured(cells[i]) for i in measured])
    for i, estimate in zip(measured, times, strict=True):
        if estimate.interval:
            rows[i] |= {"step_s_low": estimate.interval.low, "step_s_high": estimate.interval.high}
        columns.add_reason(rows[i], estimate.reason)
    ratios = _ratios(cells)
    noise = floor(ratios, cells)
    for i in measured:
        if cells[i].values[1] == FIRST:
            rows[i] |= dict.fromkeys(RATIO, 1.0)
        elif i not in ratios:
            columns.add_reason(rows[i], NO_TORCH)
        else:
            _tell(rows[i], ratios[i], noise)
    return rows


def _row(cell: CellResult, peaks: Peaks) -> Row:
    turns = [worker.turn for worker in cell.workers if worker.turn]
    every = columns.row(cell, peaks) | {
        "compute_threads": cell.values[2],
        "seed": turns[0].seed if turns else None,
        "order": " ".join(str(turn.place) for turn in turns) or None,
        **dict.fromkeys((*RATIO, "step_s_low", "step_s_high", "above_noise")),
    }
    return {name: every[name] for name in SCHEMA}


def _measured(cell: CellResult) -> Measured:
    last = cell.workers[-1]
    steps = tuple(tuple(worker.step_s) for worker in cell.workers)
    like = (cell.suite, last.identity)
    return Measured(steps, like, pool=last.session, step_s=cell.step_s)


def _ratios(cells: Sequence[CellResult]) -> dict[int, Estimate]:
    """By cell: its step time over torch's, where both ran in a round; `step_s` is the ratio."""
    firsts = {_block(cell): _by_round(cell) for cell in cells if cell.ok and _is_first(cell)}
    pairs: dict[int, Measured] = {}
    for i, cell in enumerate(cells):
        base = firsts.get(_block(cell))
        if not cell.ok or base is None or _is_first(cell):
            continue
        steps = tuple(
            tuple(step / statistics.median(base[number]) for step in times)
            for number, times in _by_round(cell).items()
            if number in base
        )
        if steps:
            pairs[i] = Measured(steps, like=cell.values, pool="pairs")
    return dict(zip(pairs, interval.estimates(list(pairs.values())), strict=True))


def _by_round(cell: CellResult) -> dict[int, list[float]]:
    return {worker.turn.round: worker.step_s for worker in cell.workers if worker.turn}


def _block(cell: CellResult) -> tuple[object, ...]:
    return cell.values[0], cell.values[2]


def _is_first(cell: CellResult) -> bool:
    return bool(cell.values[1] == FIRST)


def floor(ratios: Mapping[int, Estimate], cells: Sequence[CellResult]) -> float | None:
    """How far torch was from itself: the largest of the run's A/A ratios, less 1."""
    again = [estimate.step_s for i, estimate in ratios.items() if cells[i].values[1] == AGAIN]
    return max((max(ratio, 1 / ratio) - 1 for ratio in again), default=None)


def _tell(row: Row, ratio: Estimate, noise: float | None) -> None:
    row["over_torch"] = ratio.step_s
    if ratio.interval is None:
        columns.add_reason(row, NO_INTERVAL)
        return
    row |= {"over_torch_low": ratio.interval.low, "over_torch_high": ratio.interval.high}
    if row["value"] != AGAIN:
        row["above_noise"] = is_above(ratio.interval, noise)


def is_above(ratio: Interval | None, noise: float | None) -> bool | None:
    """Whether a ratio's interval excludes 1 and it exceeds the noise; None if unknown."""
    if ratio is None or noise is None:
        return None
    differs = ratio.high < 1 or ratio.low > 1
    return differs and abs(math.log(ratio.value)) > math.log1p(noise)
