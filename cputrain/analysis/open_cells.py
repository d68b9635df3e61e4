"""Which cells may get another pass, as the planning of passes takes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cputrain.analysis import identical, pass_pairs
from cputrain.analysis.effects import Analysis
from cputrain.analysis.paired.planning import Candidate
from cputrain.analysis.pass_seconds import pass_s

Key = tuple[str, str]
"""A cell by its suite and value, as in the tables."""

Declared = Mapping[str, Collection[str]]
"""By suite, the names of the cells that it has now."""


def is_there(key: Key, declared: Declared) -> bool:
    """Whether its suite has a cell still, as far as the suite is known."""
    suite, value = key
    return suite not in declared or value in declared[suite]


def untold(analysis: Analysis, session: str) -> list[Key]:
    """The cells of a session that have no effect at the machine's usual place yet.

    All of their pairs but one were dropped, or they were taken while the CPUs lay elsewhere than
    for most of the machine's, or in one pass that was not steady, and that does not tell. Not
    those of which nothing tells the noise: as little would a further pass. Each measurement once.
    """
    return [
        (cell.suite, cell.value)
        for index, cell in enumerate(analysis.cells)
        if _is_untold(analysis, index)
        and cell.ok
        and cell.same_as is None
        and cell.workers[-1].session == session
        and cell.workers[-1].pairs
    ]


def _is_untold(analysis: Analysis, index: int) -> bool:
    known = analysis.effects.get(index)
    if known is None:
        return True
    if known.verdict.word != "not told" or identical.is_identical(analysis.cells[index]):
        return False
    if known.noise is None:
        return False
    return known.elsewhere is not None or known.of_little is not None


def candidates(
    analysis: Analysis,
    session: str | None = None,
    seconds: Mapping[Key, float] | None = None,
) -> list[Candidate[Key]]:
    """The cells that have an effect, each measurement once: not those that share another's.

    Nor A/A cells, of which nothing is open: their effect is 1.

    Args:
        analysis: of one machine.
        session: only cells that were measured in it; None takes all.
        seconds: that one more pass of a cell takes, where that is known better than by its last
            worker and the pairs that it would have.
    """
    given = seconds or {}
    chosen = []
    for index, known in analysis.effects.items():
        cell = analysis.cells[index]
        key = (cell.suite, cell.value)
        is_of_another = session is not None and cell.workers[-1].session != session
        if cell.same_as is not None or identical.is_identical(cell) or is_of_another:
            continue
        pairs = pass_pairs.of_cell(cell, analysis.pass_pairs)
        takes_s = given[key] if key in given else pass_s(cell.workers[-1], pairs.taken)
        chosen.append(
            Candidate(key, known.effect, known.noise, takes_s, cell.suite, pairs.counting)
        )
    return chosen
