"""The `export` verb: the tables, from the run records alone."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from cputrain import paths

if TYPE_CHECKING:
    from cputrain.report.export import Summary


def export() -> Summary:
    """Write every table and page under result/."""
    from cputrain.report.export import export as write

    return write(paths.ROOT)


def main(args: argparse.Namespace) -> int:
    """Export, and say what was written; 1 where nothing could be, though there was something."""
    summary = export()
    for problem in summary.problems:
        print(f"problem: {problem}")
    machines = sorted({row["machine"] for row in summary.rows})
    print(f"{len(summary.rows)} cells of {len(machines)} machines: {', '.join(machines) or 'none'}")
    print("tables: result/README.md, result/results.csv, and one CSV for each suite")
    return 1 if summary.problems and not summary.rows else 0
