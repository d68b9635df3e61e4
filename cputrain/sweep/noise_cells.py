"""Cells that tell the noise of an engine, beside those that a run was asked for.

Without a pair of identical workers of its engine a cell has no interval, and so nothing to say. A
suite's baseline cell makes such a pair, of one engine; where engines are what is compared, as in
Framework, the others have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cputrain.analysis.identical import SUITE
from cputrain.sweep.plan import Planned, PlannedCell


def complete(
    chosen: Sequence[Planned], known: Sequence[Planned]
) -> tuple[list[Planned], list[PlannedCell]]:
    """The suites of a run with a cell of Baseline for each engine that nothing else tells it of.

    Args:
        chosen: suites with the cells that the run was asked for.
        known: every suite, with all its cells.

    Returns:
        The suites, that one among them, and the cells that are more than was asked for.
    """
    added = _lacking(chosen, known)
    suites = list(chosen)
    for stack in dict.fromkeys(cell.stack for cell in added):
        cells = tuple(cell for cell in added if cell.stack == stack)
        places = [n for n, p in enumerate(suites) if (p.name, p.stack) == (SUITE, stack)]
        if places:
            (place,) = places
            suites[place] = replace(suites[place], cells=(*suites[place].cells, *cells))
        else:
            baseline = next(planned for planned in known if planned.name == SUITE)
            suites.insert(0, replace(baseline, cells=cells, stack=stack))
    return suites, added


def line(added: Sequence[PlannedCell]) -> str | None:
    """What a run measures beside what it was asked for; None where that is nothing."""
    if not added:
        return None
    engines = ", ".join(sorted(cell.engine for cell in added))
    return (
        f"{SUITE} is measured too ({engines}): without a pair of identical workers of its engine "
        "a cell has no interval"
    )


def _lacking(chosen: Sequence[Planned], known: Sequence[Planned]) -> list[PlannedCell]:
    """One of Baseline's cells for each engine that is measured without an identical pair."""
    whole = {planned.name: planned for planned in known}
    measured: set[str] = set()
    told: set[str] = set()
    for planned in chosen:
        for cell in filter(_is_paired, planned.cells):
            measured |= {cell.engine, _reference_engine(whole[planned.name], cell)}
            if planned.name == SUITE or cell.baseline == cell.name:
                told.add(cell.engine)
    cells: dict[str, PlannedCell] = {}
    for cell in whole[SUITE].cells if SUITE in whole else ():
        if _is_paired(cell) and cell.engine in measured - told:
            cells.setdefault(cell.engine, cell)
    return list(cells.values())


def _is_paired(cell: PlannedCell) -> bool:
    return cell.why_not is None and cell.reference is not None


def _reference_engine(planned: Planned, cell: PlannedCell) -> str:
    """The engine of what a cell is measured beside."""
    return next((c.engine for c in planned.cells if c.name == cell.baseline), cell.engine)
