"""A fresh worker of one side beside a fresh worker of another: blocks in turns, then proofs."""

from __future__ import annotations

import time

from cputrain.record.part import Status
from cputrain.record.releases import TakenPair
from cputrain.run.failed import CellFailed
from cputrain.sweep.paired import running
from cputrain.sweep.paired.conducted import Conducted
from cputrain.sweep.paired.running import Running
from cputrain.sweep.releases.chosen import ChosenCell


def take(cell: ChosenCell, number: int, sides: tuple[int, int], of: list[Conducted]) -> TakenPair:
    """One pass of one cell: two fresh workers, their blocks in turns (ABBA).

    Which of them starts first changes from pass to pass: being the second may matter by itself.

    Args:
        cell: what runs.
        number: of the pass.
        sides: places of the reference's side and the other's; the same twice is A/A.
        of: all sides.

    Returns:
        What came of it; why, where it is no number.
    """
    began = time.monotonic()
    workers: dict[int, Running] = {}
    steps_done: list[tuple[int, int]] = []
    status: Status = "ok"
    reason = None
    try:
        running.require_memory(*(cell.experiments[side] for side in sides))
        for place in (0, 1) if number % 2 else (1, 0):
            side = sides[place]
            try:
                workers[place] = running.start(of[side], cell.experiments[side])
            except CellFailed as failure:
                label = of[side].label if sides[0] != sides[1] else f"copy {place + 1}"
                raise CellFailed(failure.status, f"{label}: {failure.reason}") from failure
        steps_done = running.take_pairs(workers[0], workers[1])
        for place in (0, 1):
            workers[place].finish()
    except CellFailed as failure:
        status, reason = failure.status, failure.reason
    finally:
        for each in workers.values():
            each.end()
    records = [workers[place].record for place in (0, 1)] if status == "ok" else [None, None]
    return TakenPair(
        key=cell.key,
        number=number,
        sides=sides,
        reference=records[0],
        worker=records[1],
        steps_done=steps_done if status == "ok" else [],
        status=status,
        reason=reason,
        wall_s=time.monotonic() - began,
    )
