"""Which suites and cells a run takes, of those that there are."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from cputrain.engines import specs
from cputrain.errors import UsageError
from cputrain.run import stacks
from cputrain.sweep.plan import Planned, PlannedCell


def choose(
    suites: Sequence[Planned], regexes: Sequence[str] | None, quick: bool, ipex: bool = False
) -> list[Planned]:
    """The suites and cells that a run takes; each suite once for each environment it needs.

    Args:
        suites: all of them.
        regexes: as asv's --bench: a cell is taken when one of them is found in its name.
        quick: with `regexes`, of each suite and engine the first, middle and last value that run
            here, and the baseline; without, what the suites name (`Suite.quick`).
        ipex: also cells that need IPEX's environment.

    Raises:
        UsageError: nothing matches.
    """
    chosen = []
    for planned in suites:
        cells = [cell for cell in planned.cells if ipex or cell.stack == stacks.MAIN]
        if quick:
            cells = _few(planned, cells) if regexes else quick_cells(planned, cells)
        if regexes:
            names = {cell: planned.asv_name(cell) for cell in cells}
            cells = [c for c in cells if any(re.search(r, names[c]) for r in regexes)]
        for stack in stacks.ALL:
            if of_stack := tuple(cell for cell in cells if cell.stack == stack):
                chosen.append(replace(planned, cells=of_stack, stack=stack))
    if chosen:
        return chosen
    pattern = " or ".join(regexes or [])
    if not ipex and only_ipex(suites, regexes, quick):
        raise UsageError(f"{pattern!r} matches cells of IPEX's environment only: add --ipex")
    raise UsageError(f"no suite matches {pattern!r}; {_meant(pattern, [p.name for p in suites])}")


def quick_cells(planned: Planned, cells: Sequence[PlannedCell]) -> list[PlannedCell]:
    """Of `cells` those of `Suite.quick` and their baseline: on the first engine where that is a
    parameter and no other one is named.

    A baseline is measured once, however many suites have it.
    """
    suite = planned.suite
    wanted = [(value, specs.FIRST) if suite.engines else (value,) for value in suite.quick]
    wanted += [value for value in suite.quick if isinstance(value, tuple)]  # with its engine
    names = {cell.baseline for cell in cells if cell.values in wanted}
    return [cell for cell in cells if cell.values in wanted or cell.name in names]


def _few(planned: Planned, cells: list[PlannedCell]) -> list[PlannedCell]:
    """Of each engine that is a parameter the first, middle and last that run here; baselines."""
    wanted = {*planned.baselines}
    here = [cell for cell in cells if cell.why_not is None]
    engines = [cell.values[-1] if planned.suite.engines else None for cell in here]
    for engine in dict.fromkeys(engines):
        of_engine = [cell for cell, its in zip(here, engines, strict=True) if its == engine]
        wanted |= {of_engine[0], of_engine[len(of_engine) // 2], of_engine[-1]}
    return [cell for cell in cells if cell in wanted]


def _meant(pattern: str, names: Collection[str]) -> str:
    """The suite of the nearest name, in whatever case; all of them where none is near."""
    by_lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(pattern.lower(), by_lower, n=1)
    return f"did you mean {by_lower[near[0]]}?" if near else f"there are {', '.join(names)}"


def only_ipex(
    suites: Sequence[Planned], regexes: Sequence[str] | None, quick: bool
) -> list[Planned]:
    """What `choose` takes with ipex and not without."""
    try:
        chosen = choose(suites, regexes, quick, ipex=True)
    except UsageError:
        return []
    return [planned for planned in chosen if planned.stack == stacks.IPEX]
