"""The `export` verb: write the tables under result/ again."""

from __future__ import annotations

import argparse

from cputrain.sweep import exporting
from cputrain.wording import counted, one_line


def main(args: argparse.Namespace) -> int:
    """Export, and say what was written; 1 where nothing could be, though there was something."""
    summary = exporting.export()
    for problem in summary.problems:
        print(f"problem: {one_line(problem)}")
    machines = sorted({row["machine"] for row in summary.rows})
    cells = f"{counted(len(summary.rows), 'cell')} of {counted(len(machines), 'machine')}"
    print(f"{cells}: {one_line(', '.join(machines)) or 'none'}")
    print("tables: result/README.md, result/results.csv, and one CSV for each suite")
    return 1 if summary.problems and not summary.rows else 0
