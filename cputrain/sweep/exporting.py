"""The tables, from the run records alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cputrain import paths

if TYPE_CHECKING:
    from cputrain.report.export import Summary


def export() -> Summary:
    """Write every table and page under result/."""
    from cputrain.report.export import export as write

    return write(paths.ROOT)
