"""asv's results of one benchmark in two files: each cell from the one that has more of it.

A benchmark is a row, with an entry for each of the file's columns, cut off behind the last that has
anything. A column by cell is a list, or null where no cell has anything. A cell without a number
has failed or did not run, which is null, or was skipped, which is NaN.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cputrain.results.exchange.asv_files import COLUMNS

BY_CELL = (*("result", "samples"), *(name for name in COLUMNS if name.startswith("stats_")))
SAME = ("params", "version")
"""Columns without which cells of two rows are not the same ones."""

NUMBER = 2
"""What a number tells."""

Row = list[Any]


def filled(columns: Sequence[str], here: Row, other: Row) -> Row | None:
    """The row that lies here with what its cells lack; None where the other one has nothing of it.

    A cell is taken whole, its statistics with its number. Where both have a number, the one whose
    samples have the other's among them stays: passes were added to it. Where neither has, the
    benchmark that began later tells.

    Args:
        columns: of both rows.
        here: the row that lies here.
        other: the one that comes.
    """
    mine, theirs = (dict(itertools.zip_longest(columns, row)) for row in (here, other))
    if any(mine.get(name) != theirs.get(name) for name in SAME):
        return None
    size = len(theirs["result"]) if isinstance(theirs.get("result"), list) else 0
    known, given = (_cells(row.get("result"), size) for row in (mine, theirs))
    if mine.get("result") not in (None, known):
        return None
    later = _began(theirs) > _began(mine)
    samples = zip(*(_cells(row.get("samples"), size) for row in (mine, theirs)), strict=True)
    lacking = [
        i
        for i, (own, others) in enumerate(samples)
        if (more := _tells(given[i]) - _tells(known[i])) > 0
        or (more == 0 and _tells(given[i]) == NUMBER and _is_newer(own, others, later))
    ]
    if not lacking:
        return None
    for name in BY_CELL:
        if name in columns:
            cells, others = (_cells(row[name], size) for row in (mine, theirs))
            for i in lacking:
                cells[i] = others[i]
            mine[name] = None if all(cell is None for cell in cells) else cells
    if later:
        mine |= {name: theirs[name] for name in ("started_at", "duration") if name in columns}
    row = [mine[name] for name in columns]
    while row[-1] is None:
        row.pop()
    return row


def _cells(column: Any, size: int) -> list[Any]:
    """A column's entries; nulls where it has none, or not one for each cell."""
    return [*column] if isinstance(column, list) and len(column) == size else [None] * size


def _tells(value: Any) -> int:
    """A number tells more than that a cell was skipped, and that more than nothing."""
    if not isinstance(value, int | float):
        return 0
    return 1 if math.isnan(value) else NUMBER


def _began(row: dict[str, Any]) -> float:
    """When the benchmark last began, in milliseconds; before all others where that is not known."""
    began = row.get("started_at")
    return began if isinstance(began, int | float) else -math.inf


def _is_newer(samples: Any, others: Any, later: bool) -> bool:
    """Whether the other number is to lie here, by the samples of both."""
    if not _are_numbers(samples) or not _are_numbers(others):
        return later
    own, given = Counter(samples), Counter(others)
    return own < given or (later and not given <= own)


def _are_numbers(samples: Any) -> bool:
    return isinstance(samples, list) and all(isinstance(x, int | float) for x in samples)
