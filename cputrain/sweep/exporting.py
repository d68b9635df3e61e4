"""The `export` verb: the tables, with the suites' own descriptions."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cputrain import paths
from cputrain.sweep import plan
from cputrain.wording import counted, one_line

if TYPE_CHECKING:
    from cputrain.report.export import Summary


def export() -> Summary:
    """Write every table and page under result/."""
    from cputrain.report.export import export as write

    suites = plan.discover()
    descriptions = {planned.name: planned.description for planned in suites}
    return write(paths.ROOT, descriptions, baselines(suites))


def baselines(suites: Iterable[plan.Planned]) -> dict[str, tuple[str, ...] | None]:
    """Identities of each suite's baseline experiments as they run; None where there is none."""
    firsts = {planned.name: planned.baseline for planned in suites}
    return {name: (cell.experiment.identity,) if cell else None for name, cell in firsts.items()}


def main(args: argparse.Namespace) -> int:
    """Export, and say what was written."""
    summary = export()
    for problem in summary.problems:
        print(f"problem: {one_line(problem)}")
    machines = sorted({row["machine"] for row in summary.rows})
    cells = f"{counted(len(summary.rows), 'cell')} of {counted(len(machines), 'machine')}"
    print(f"{cells}: {one_line(', '.join(machines)) or 'none'}")
    print("tables: result/README.md, result/results.csv, and one CSV for each suite")
    return 0
