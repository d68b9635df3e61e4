"""When a cell was disturbed too much for a verdict: the one rule of every table and page."""

from __future__ import annotations

from cputrain.results.columns import Row


def is_disturbed(row: Row) -> bool:
    """Whether other work held up half of its samples or more: what stands out may be that."""
    return 2 * int(row["disturbed_samples"] or 0) >= int(row["samples"] or 1)
