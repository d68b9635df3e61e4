"""Which cells may get another pass, as the planning of passes takes them."""

from __future__ import annotations

from collections.abc import Mapping

from cputrain.analysis import identical
from cputrain.analysis.effects import Analysis
from cputrain.analysis.paired.planning import Candidate

Key = tuple[str, str]
"""A cell by its suite and value, as in the tables."""


def without_effect(analysis: Analysis, session: str) -> list[Key]:
    """The cells of a session whose pairs were dropped, all of them; each measurement once."""
    return [
        (cell.suite, cell.value)
        for index, cell in enumerate(analysis.cells)
        if index not in analysis.effects
        and cell.ok
        and cell.same_as is None
        and cell.workers[-1].session == session
        and cell.workers[-1].pairs
    ]


def candidates(
    analysis: Analysis,
    session: str | None = None,
    seconds: Mapping[Key, float] | None = None,
    with_identical: bool = False,
) -> list[Candidate[Key]]:
    """The cells that have an effect, each measurement once: not those that share another's.

    Args:
        analysis: of one machine.
        session: only cells that were measured in it; None takes all.
        seconds: that one more pass of a cell takes, where that is known better than by its last
            worker's life.
        with_identical: also A/A cells, of which nothing is open: their effect is 1.
    """
    given = seconds or {}
    chosen = []
    for index, known in analysis.effects.items():
        cell = analysis.cells[index]
        key = (cell.suite, cell.value)
        is_left_out = identical.is_identical(cell) and not with_identical
        is_elsewhere = session is not None and cell.workers[-1].session != session
        if cell.same_as is not None or is_left_out or is_elsewhere:
            continue
        takes_s = given.get(key, cell.workers[-1].wall_s or 0.0)
        chosen.append(Candidate(key, known.effect, known.noise, takes_s, cell.suite))
    return chosen
