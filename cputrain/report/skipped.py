"""What a machine skipped, by reason, so that nothing is left out in silence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cputrain.analysis import by_engine
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult

NUMBER = re.compile(r"\d+(\.\d+)?")


def general(cell: CellResult, row: Row) -> str:
    """The reason without the cell's own value, or with n for it where that is a number."""
    value = by_engine.setting(cell)
    reason = (row["reason"] or "").removesuffix(f", not {value}")
    if not NUMBER.fullmatch(value):
        return str(reason)
    return re.sub(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)", "n", reason)


def by_reason(cells: Sequence[tuple[CellResult, Row]]) -> list[tuple[str, str]]:
    """Skipped cells and why: "CoreCount (3, 4)", or "Governor" where that goes for all of it.

    Args:
        cells: of one machine, with their rows.
    """
    whole: dict[str, list[str]] = {}
    skipped: dict[str, dict[str, list[str]]] = {}
    for cell, row in cells:
        name = " on ".join(filter(None, (cell.suite, by_engine.engine(cell))))
        value = by_engine.setting(cell)
        whole.setdefault(name, []).append(value)
        if row["status"] == "skipped":
            skipped.setdefault(general(cell, row), {}).setdefault(name, []).append(value)
    return [
        (
            ", ".join(
                name if values == whole[name] else f"{name} ({', '.join(values)})"
                for name, values in names.items()
            ),
            reason,
        )
        for reason, names in skipped.items()
    ]
