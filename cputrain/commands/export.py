"""The `export` verb: write the tables under result/ again."""

from __future__ import annotations

import argparse

from cputrain.sweep import exporting
from cputrain.wording import counted, one_line

MOST_NAMED = 10


def main(args: argparse.Namespace) -> int:
    """Export, and say what was written; 1 where nothing could be, though there was something."""
    summary = exporting.export()
    for problem in summary.problems:
        print(f"problem: {one_line(problem)}")
    machines = sorted(summary.machines)
    cells = f"{counted(summary.cells, 'cell')} of {counted(len(machines), 'machine')}"
    shown = machines if len(machines) <= MOST_NAMED else [*machines[:MOST_NAMED], "..."]
    print(f"{cells}: {one_line(', '.join(shown)) or 'none'}")
    if len(summary.made) < len(machines):
        print(f"{counted(len(machines) - len(summary.made), 'machine')} had not changed")
    print(f"tables: {summary.where}, and one CSV for each suite")
    return 1 if summary.problems and not summary.cells else 0
