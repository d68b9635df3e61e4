"""Cells that take as long as several others: a first pass takes them after all others.

A fifth of the cells, those that are compiled and those of large models, takes half of the time.
Where that is not there, it is theirs that is lacking, and not that of whole suites.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from cputrain.analysis import identical
from cputrain.sweep.choice import quick_cells
from cputrain.sweep.durations import guess_s
from cputrain.sweep.plan import Planned, PlannedCell, in_order

LONG_S = 6.0
"""Seconds of a worker from which its cell is a long one: some two usual ones."""


def apart(suites: Iterable[Planned]) -> list[Planned]:
    """The suites, and of those that have long cells these as suites of their own.

    How long they take is guessed without this machine's records: a sweep that goes on after a stop
    finds the same ones apart. What a shorter cell has measured before takes no time. What tells the
    noise stays, and so do what `predict` rests on, what a quick run takes, baselines of cells that
    stay, and fine-tuned models, which need other cells before them. First steps, which need each
    other, wait together.
    """
    parts: list[Planned] = []
    measured: set[tuple[str, str | None]] = set()
    compiled: set[str] = set()
    for planned in in_order(suites):
        again = planned.suite.measures_again
        runs = [cell for cell in planned.cells if cell.why_not is None]
        new = [cell for cell in runs if again or _key(cell) not in measured]
        takes_long = [cell for cell in new if _is_long(planned, cell, compiled)]
        long = _that_wait(planned, takes_long, new)
        for cell in new:
            if cell not in long:
                measured.add(_key(cell))
                compiled.add(_code(cell))
        parts += _split(planned, long)
    return parts


def _key(cell: PlannedCell) -> tuple[str, str | None]:
    """What cells of one measurement have in common."""
    return cell.experiment.identity, cell.reference


def _code(cell: PlannedCell) -> str:
    """What cells of one compiled program have in common."""
    return cell.experiment.but(jit_state="steady").identity


def _is_long(planned: Planned, cell: PlannedCell, compiled: Container[str]) -> bool:
    reference = planned.suite().reference(*cell.values)
    finds_code = _code(cell) in compiled
    return guess_s(cell.experiment, reference, fewer=True, finds_code=finds_code) >= LONG_S


def _that_wait(
    planned: Planned, takes_long: list[PlannedCell], new: list[PlannedCell]
) -> list[PlannedCell]:
    """The cells of a suite that come after all others, of those that take long.

    All of its cells do where it has no other `new` ones, that is such as no suite before it has
    measured.
    """
    early = quick_cells(planned, planned.cells)
    tunes = any(c.experiment.training.fine_tuning != "scratch" for c in planned.cells)
    late = [cell for cell in takes_long if cell not in early]
    stays = planned.name == identical.SUITE or planned.suite.calibrates or tunes
    if not late or stays:
        return []
    if _has_first_steps(planned) or all(cell in late for cell in new):
        return list(planned.cells)
    needed = {cell.baseline for cell in planned.cells if cell.why_not is None and cell not in late}
    return [cell for cell in late if cell.name not in needed]


def _has_first_steps(planned: Planned) -> bool:
    return any(cell.experiment.runtime.jit_state != "steady" for cell in planned.cells)


def _split(planned: Planned, long: list[PlannedCell]) -> Iterator[Planned]:
    short = tuple(cell for cell in planned.cells if cell not in long)
    if short:
        yield replace(planned, cells=short)
    if long:
        yield replace(planned, cells=tuple(long), is_long=True)
