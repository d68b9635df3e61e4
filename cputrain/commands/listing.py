"""The `list` verb: the suites, their values, and what this machine skips."""

from __future__ import annotations

import argparse

from cputrain.run import stacks
from cputrain.sweep.plan import Planned, discover
from cputrain.wording import counted


def lines(suites: list[Planned]) -> list[str]:
    """Two lines for each suite, and one for each reason to skip cells of it; the sum at the end."""
    found, area = [], ""
    for planned in suites:
        if planned.area != area:
            area = planned.area
            found.append(area)
        names = ", ".join(planned.suite.param_names)
        found.append(f"  {planned.name} ({names}): {planned.description}")
        here = [cell for cell in planned.cells if cell.why_not is None]
        usual = [cell.name for cell in here if cell.stack == stacks.MAIN]
        also = [cell.name for cell in here if cell.stack == stacks.IPEX]
        if usual or not also:
            found.append(f"    {', '.join(usual) or 'nothing runs here'}")
        if also:
            found.append(f"    with --ipex: {', '.join(also)}")
        reasons: dict[str, list[str]] = {}
        for cell in planned.cells:
            if cell.why_not is not None:
                reason = cell.why_not.removesuffix(f", not {cell.name}")
                reasons.setdefault(reason, []).append(cell.name)
        found += [f"    skipped: {', '.join(those)}: {why}" for why, those in reasons.items()]
    cells = [cell for planned in suites for cell in planned.cells]
    skipped = sum(cell.why_not is not None for cell in cells)
    with_flag = sum(cell.why_not is None and cell.stack == stacks.IPEX for cell in cells)
    verb = "is" if skipped == 1 else "are"
    end = f"{counted(len(suites), 'suite')}, {counted(len(cells), 'cell')}, "
    end += f"{skipped} of them {verb} skipped here"
    return [
        *found,
        f"{end}, {with_flag} {'runs' if with_flag == 1 else 'run'} with --ipex only"
        if with_flag
        else end,
    ]


def main(args: argparse.Namespace) -> int:
    """Print them."""
    print("\n".join(lines(discover())))
    return 0
