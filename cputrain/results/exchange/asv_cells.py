"""asv's results of one benchmark in two files: cells that lack here come from the other one.

A benchmark is a row, with an entry for each of the file's columns, cut off behind the last that has
anything. A column by cell is a list, or null where no cell has anything. A cell without a number
has failed or did not run, which is null, or was skipped, which is NaN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from cputrain.results.exchange.asv_files import COLUMNS

BY_CELL = (*("result", "samples"), *(name for name in COLUMNS if name.startswith("stats_")))
SAME = ("params", "version")
"""Columns without which cells of two rows are not the same ones."""

Row = list[Any]


def filled(columns: Sequence[str], here: Row, other: Row) -> Row | None:
    """The row that lies here with what its cells lack; None where the other one has nothing of it.

    A cell is taken whole, its statistics with its number. What has a number here stays.

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
    lacking = [i for i in range(size) if _tells(given[i]) > _tells(known[i])]
    if not lacking or mine["result"] not in (None, known):
        return None
    for name in BY_CELL:
        if name in columns:
            cells, others = (_cells(row[name], size) for row in (mine, theirs))
            for i in lacking:
                cells[i] = others[i]
            mine[name] = None if all(cell is None for cell in cells) else cells
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
    return 1 if math.isnan(value) else 2
