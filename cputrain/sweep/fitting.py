"""What of a first pass fits into the time that is left: whole suites, and some cells of others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cputrain.sweep.durations import SUITE_S
from cputrain.sweep.plan import Planned, PlannedCell


@dataclass(frozen=True)
class Fitting:
    """Suites of one call.

    Attributes:
        suites: that run, those in part with the cells that do.
        whole: keys of those that run whole.
        left_out: as planned, those of which nothing runs, or not all.
        in_part: keys of those of which not all runs.
    """

    suites: list[Planned] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    left_out: list[Planned] = field(default_factory=list)
    in_part: list[str] = field(default_factory=list)


def fit(
    suites: Sequence[Planned],
    suites_s: Mapping[str, float],
    cell_s: Callable[[Planned, PlannedCell], float] | None,
    left_s: float,
) -> Fitting:
    """In their order, whole suites and, of those that are too long, the cells that fit.

    These are the first ones: a later one may need what an earlier one has compiled.

    Args:
        suites: of one call.
        suites_s: seconds that each is expected to take, by key.
        cell_s: seconds that a cell of a suite is expected to take; None leaves such suites out.
        left_s: seconds that are left.
    """
    fitting = Fitting()
    for planned in suites:
        if suites_s[planned.key] < left_s:
            fitting.suites.append(planned)
            fitting.whole.append(planned.key)
            left_s -= suites_s[planned.key]
            continue
        fitting.left_out.append(planned)
        if cell_s is None:
            continue
        cells, after_s = [], left_s - SUITE_S
        for cell in planned.cells:
            after_s -= cell_s(planned, cell)
            if after_s < 0:
                break
            cells.append(cell)
        if any(cell.why_not is None for cell in cells):
            fitting.suites.append(replace(planned, cells=tuple(cells)))
            fitting.in_part.append(planned.key)
            left_s = after_s
    return fitting


def lacking(
    parts: Iterable[Planned], left_out: Iterable[Planned], in_part: Collection[str]
) -> list[str]:
    """For people: the suites that there was no time for, or not for all of their cells.

    Args:
        parts: that a first pass takes: suites, and long cells of some apart.
        left_out, in_part: see `Fitting`; of all calls.
    """
    missing = {part.key: part.suite_key for part in left_out}
    begun = {part.suite_key for part in parts if part.key not in missing or part.key in in_part}
    keys = dict.fromkeys(missing.values())
    return [f"the rest of {key}" if key in begun else key for key in keys]
