"""What a machine skipped, by reason, so that nothing is left out in silence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cputrain.results.columns import Row

NUMBER = re.compile(r"\d+(\.\d+)?")


def general(row: Row) -> str:
    """The reason without the row's own value, or with n for it where that is a number."""
    value = row["value"]
    reason = (row["reason"] or "").removesuffix(f", not {value}")
    if not NUMBER.fullmatch(value):
        return str(reason)
    return re.sub(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)", "n", reason)


def by_reason(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Skipped cells and why: "CoreCount (3, 4)", or "Governor" where that goes for all of it.

    Args:
        rows: of one machine.
    """
    cells: dict[str, list[str]] = {}
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        cells.setdefault(row["suite"], []).append(row["value"])
        if row["status"] == "skipped":
            suites = found.setdefault(general(row), {})
            suites.setdefault(row["suite"], []).append(row["value"])
    return [
        (
            ", ".join(
                suite if values == cells[suite] else f"{suite} ({', '.join(values)})"
                for suite, values in suites.items()
            ),
            reason,
        )
        for reason, suites in found.items()
    ]
