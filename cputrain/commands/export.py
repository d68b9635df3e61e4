"""The `export` verb: write the tables under result/ again."""

from __future__ import annotations

import argparse

from cputrain.sweep import exporting
from cputrain.sweep.progress import plural


def main(args: argparse.Namespace) -> int:
    """Export, and say what was written."""
    summary = exporting.export()
    for problem in summary.problems:
        print(f"problem: {problem}")
    machines = sorted({row["machine"] for row in summary.rows})
    cells = plural(len(summary.rows), "cell")
    print(f"{cells} of {plural(len(machines), 'machine')}: {', '.join(machines) or 'none'}")
    print("tables: result/README.md, result/results.csv, and one CSV for each suite")
    return 0
