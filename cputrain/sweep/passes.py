"""Which cells the next pass of a sweep takes: where it tells most for its seconds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cputrain import paths
from cputrain.analysis import effects, open_cells
from cputrain.analysis.noises import NoiseKey
from cputrain.analysis.paired import planning
from cputrain.analysis.pass_pairs import FurtherPairs
from cputrain.analysis.pass_seconds import pass_s
from cputrain.results import rows
from cputrain.results.rows import CellResult
from cputrain.run.session import Session
from cputrain.sweep.durations import SUITE_S, Durations
from cputrain.sweep.plan import Planned


@dataclass(frozen=True)
class Further:
    """A further pass.

    Attributes:
        suites: with the cells that it takes.
        suites_s: seconds that each may take, by key.
        pairs: of blocks of each cell, by engine: see `planning.pairs_per_pass`.
    """

    suites: list[Planned]
    suites_s: dict[str, float]
    pairs: dict[str, int]

    def kept(self) -> dict[str, Any]:
        """What `again` makes the same pass of, as JSON has it."""
        cells = {planned.key: [cell.name for cell in planned.cells] for planned in self.suites}
        return {"cells": cells, "suites_s": self.suites_s, "pairs": self.pairs}


def again(kept: Mapping[str, Any], suites: Iterable[Planned]) -> Further:
    """The pass that a sweep was in when it was stopped.

    Planned anew it would leave out what it has measured meanwhile, which asv does not have yet, or
    ask for other pairs, for which that would have to be measured again.

    Args:
        kept: of `Further.kept`.
        suites: of the sweep, with all its cells.
    """
    cells = kept["cells"]
    chosen = [
        replace(planned, cells=tuple(c for c in planned.cells if c.name in cells[planned.key]))
        for planned in suites
        if planned.key in cells
    ]
    return Further(chosen, dict(kept["suites_s"]), dict(kept["pairs"]))


def further(
    session: Session, suites: Sequence[Planned], estimate: Durations, until: float
) -> Further:
    """The next pass: the cells that are open, as far as they and their suites fit into the time.

    Before them those that have failed once, and have no number, and those that have none that
    tells (`open_cells.untold`), the shortest first.

    A cell that shares another's measurement goes with it: that costs no time, and asv has its
    number too.

    Args:
        session: whose records tell what is known.
        suites: of the sweep, with all its cells.
        estimate: of seconds, for cells that gave no number so far.
        until: when the pass ends at the latest, by `time.monotonic`; reading records is before it.
    """
    cells, _ = rows.read(paths.ROOT, session.machine, (session.mode,))
    analysis = effects.analyse(cells, {})
    engines = {cell.engine for planned in suites for cell in planned.cells}
    pairs = {
        engine: analysis.pass_pairs.get(NoiseKey(session.id, engine), FurtherPairs()).taken
        for engine in engines
    }
    last = {(cell.suite, cell.value): cell.workers[-1] for cell in cells if cell.ok}
    seconds = {}
    for planned in suites:
        for cell in planned.cells:
            if cell.why_not is not None:
                continue
            key, count = (planned.name, cell.name), pairs[cell.engine]
            known = last.get(key)
            seconds[key] = (
                estimate.cell_s(planned, cell, pairs=count)
                if known is None
                else pass_s(known, count)
            )
    left_s = until - time.monotonic()
    failed_s = _failed_once(cells, session.id)
    seconds |= {key: max(seconds[key], s) for key, s in failed_s.items() if key in seconds}
    taken = set()
    untold = [key for key in open_cells.untold(analysis, session.id) if key in seconds]
    for key in (*failed_s, *sorted(untold, key=seconds.__getitem__)):
        if key in seconds and seconds[key] + SUITE_S <= left_s:
            taken.add(key)
            left_s -= seconds[key] + SUITE_S
    others = [
        candidate
        for candidate in open_cells.candidates(analysis, session.id, seconds)
        if candidate.key in seconds and candidate.key not in taken
    ]
    taken.update(planning.next_pass(others, left_s, suite_s=SUITE_S))
    names = {f"{suite}/{value}" for suite, value in taken}
    sharing = {(cell.suite, cell.value) for cell in cells if cell.same_as in names}
    chosen: list[Planned] = []
    suites_s: dict[str, float] = {}
    for planned in suites:
        keys = {cell: (planned.name, cell.name) for cell in planned.cells}
        cells_of_pass = tuple(cell for cell, key in keys.items() if key in taken or key in sharing)
        if cells_of_pass:
            chosen.append(replace(planned, cells=cells_of_pass))
            cells_s = [seconds[key] for key in keys.values() if key in taken]
            suites_s[planned.key] = sum(cells_s) + (SUITE_S if cells_s else 0.0)
    return Further(chosen, suites_s, pairs)


def _failed_once(cells: Sequence[CellResult], session: str) -> dict[tuple[str, str], float]:
    """The cells that one pass of a session took and none has a number of, and how long each took.

    What failed by chance, as a worker that was killed, has its number from the next pass; what
    fails again is left alone.
    """
    return {
        (cell.suite, cell.value): cell.workers[-1].wall_s or 0.0
        for cell in cells
        if cell.status not in ("ok", "skipped", "unproven")
        and {worker.session for worker in cell.workers} == {session}
        and len({worker.run for worker in cell.workers}) == 1
    }
