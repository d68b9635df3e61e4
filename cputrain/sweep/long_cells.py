"""Cells that take as long as several others: a first pass takes them after all others.

On a slow machine a tenth of the cells takes a third of the time. Where that is not there, it is
theirs that is lacking, and not that of whole suites.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cputrain.sweep.durations import guess_s
from cputrain.sweep.plan import Planned, PlannedCell, in_order

LONG_S = 12.0
"""Seconds of a worker from which its cell is a long one: some four usual ones."""


def apart(suites: Iterable[Planned]) -> list[Planned]:
    """The suites, and of those that have long cells these as suites of their own.

    How long they take is guessed without this machine's records: a sweep that goes on after a stop
    finds the same ones apart. What a shorter cell has measured before takes no time. A suite's
    baselines stay, and so do first steps and fine-tuned models, which need other cells before them.
    """
    parts: list[Planned] = []
    measured: set[tuple[str, str | None]] = set()
    compiled: set[str] = set()
    for planned in in_order(suites):
        long: list[PlannedCell] = []
        for cell in planned.cells:
            code = cell.experiment.but(jit_state="steady").identity
            measurement = cell.experiment.identity, cell.reference
            if measurement in measured and not planned.suite.measures_again:
                continue
            if _may_wait(planned, cell) and _is_long(planned, cell, code in compiled):
                long.append(cell)
            elif cell.why_not is None:
                measured.add(measurement)
                compiled.add(code)
        parts += _split(planned, long)
    return parts


def _is_long(planned: Planned, cell: PlannedCell, finds_code: bool) -> bool:
    reference = planned.suite().reference(*cell.values)
    return guess_s(cell.experiment, reference, fewer=True, finds_code=finds_code) >= LONG_S


def _may_wait(planned: Planned, cell: PlannedCell) -> bool:
    """Whether no other cell of its suite needs it, nor it them."""
    tunes = any(c.experiment.training.fine_tuning != "scratch" for c in planned.cells)
    is_steady = cell.experiment.runtime.jit_state == "steady"
    return cell.why_not is None and cell.name != cell.baseline and is_steady and not tunes


def _split(planned: Planned, long: list[PlannedCell]) -> Iterator[Planned]:
    short = tuple(cell for cell in planned.cells if cell not in long)
    if short:
        yield replace(planned, cells=short)
    if long:
        yield replace(planned, cells=tuple(long), is_long=True)
