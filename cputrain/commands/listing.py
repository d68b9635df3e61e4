"""The `list` verb: the suites, their values by engine, and what this machine skips."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from cputrain import paths
from cputrain.run import stacks
from cputrain.sweep.plan import Planned, PlannedCell, survey
from cputrain.wording import counted


def lines(suites: list[Planned]) -> list[str]:
    """For each suite what it is about, its values, and a line for each reason to skip some.

    One line of values for each engine, where that is a parameter. The sum comes last.
    """
    shown, area = [], ""
    for planned in suites:
        if planned.area != area:
            area = planned.area
            shown.append(area)
        names = ", ".join(planned.suite.param_names)
        shown.append(f"  {planned.name} ({names}): {planned.description}")
        here = [cell for cell in planned.cells if cell.why_not is None]
        usual = [cell for cell in here if cell.stack == stacks.MAIN]
        also = [cell for cell in here if cell.stack == stacks.IPEX]
        if usual or not also:
            shown += [f"    {line}" for line in _by_engine(planned, usual) or ["nothing runs here"]]
        if also:
            shown += [f"    with --ipex: {line}" for line in _by_engine(planned, also)]
        reasons: dict[str, list[PlannedCell]] = {}
        for cell in planned.cells:
            if cell.why_not is not None:
                value = paths.cell_name(_own(planned, cell))
                reasons.setdefault(cell.why_not.removesuffix(f", not {value}"), []).append(cell)
        for why, cells in reasons.items():
            shown.append(f"    skipped: {'; '.join(_by_engine(planned, cells))}: {why}")
    cells = [cell for planned in suites for cell in planned.cells]
    skipped = sum(cell.why_not is not None for cell in cells)
    with_flag = sum(cell.why_not is None and cell.stack == stacks.IPEX for cell in cells)
    verb = "is" if skipped == 1 else "are"
    end = f"{counted(len(suites), 'suite')}, {counted(len(cells), 'cell')}, "
    end += f"{skipped} of them {verb} skipped here"
    return [
        *shown,
        f"{end}, {with_flag} {'runs' if with_flag == 1 else 'run'} with --ipex only"
        if with_flag
        else end,
    ]


def _own(planned: Planned, cell: PlannedCell) -> tuple[object, ...]:
    """A cell's values without the engine, where that is a parameter."""
    return cell.values[:-1] if planned.suite.engines else cell.values


def _by_engine(planned: Planned, cells: Iterable[PlannedCell]) -> list[str]:
    """The cells' values; a line for each engine, where that is a parameter."""
    by_engine: dict[str, list[str]] = {}
    for cell in cells:
        engine = f"{cell.engine}: " if planned.suite.engines else ""
        by_engine.setdefault(engine, []).append(paths.cell_name(_own(planned, cell)))
    return [f"{engine}{', '.join(values)}" for engine, values in by_engine.items()]


def main(args: argparse.Namespace) -> int:
    """Print them, and what cannot be; 2 where something cannot."""
    suites, broken = survey()
    print("\n".join(lines(suites)), flush=True)
    for problem in broken:
        print(f"bench.py: {problem.line}", file=sys.stderr)
    return 2 if broken else 0
