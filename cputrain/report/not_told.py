"""What is not told yet on a machine, why, and the command that goes on with it."""

from __future__ import annotations

from collections.abc import Sequence

from cputrain.analysis import identical
from cputrain.analysis.by_quota import is_by_quota
from cputrain.analysis.ends import CellRow
from cputrain.analysis.open_cells import Key
from cputrain.analysis.paired import planning
from cputrain.analysis.paired.planning import Candidate
from cputrain.engines import specs
from cputrain.report import words
from cputrain.report.statements import Statement
from cputrain.results.rows import CellResult
from cputrain.run import stacks
from cputrain.wording import counted

HELD_UP = "others had the CPUs, or moved them, during all pairs: python3 bench.py doctor says who"
BY_QUOTA = "a CPU quota held threads back during all pairs: python3 bench.py doctor says what to do"
NEXT_RUN_S = 18 * 60.0
"""Seconds of measuring of a run of 20 minutes."""


def statement(cells: Sequence[CellRow], candidates: Sequence[Candidate[Key]]) -> Statement | None:
    """The cells without a verdict, and those without a pair that counts; None without any.

    Args:
        cells: of one machine.
        candidates: those that may get another pass.
    """
    tried = [(cell, row) for cell, row in cells if cell.ok and not identical.is_identical(cell)]
    open_cells = [(cell, row) for cell, row in tried if row["verdict"] == "not told"]
    held_up = [(c, row) for c, row in tried if row["effect"] is None and row["dropped_pairs"]]
    rows = (*(row for _, row in open_cells), *(row for _, row in held_up))
    if not rows:
        return None
    command = "python3 bench.py"
    if all(row["mode"] == "quick" for row in rows):
        command += " --quick"
    parts = [_open(open_cells, candidates, command)] if open_cells else []
    by_quota = sum(is_by_quota(cell.workers) for cell, _ in held_up)
    for count, why in ((len(held_up) - by_quota, HELD_UP), (by_quota, BY_QUOTA)):
        if count:
            parts.append(f"No effect yet: {counted(count, 'cell')}, as {why}.")
    return Statement(" ".join(parts), rows)


def _open(its: Sequence[CellRow], candidates: Sequence[Candidate[Key]], command: str) -> str:
    """What is said of cells without a verdict.

    Args:
        its: those cells.
        candidates: see `statement`.
        command: that goes on with them.
    """
    bare = [cell for cell, row in its if row["effect_low"] is None]
    owners = [_owner(cell) for cell, row in its if row["further_passes"] is not None]
    until = planning.seconds_until(candidates, dict.fromkeys(owners, 1))
    near = sorted(until[owner] for owner in owners if owner in until)
    far = len(its) - len(owners) - len(bare)
    text = f"Not told yet: {counted(len(its), 'cell')}."
    if near:
        text += f" {_when(near, len(its))}: {command} goes on there."
    if far:
        text += f" {_some(far, len(its), 'differs', 'differ')} by too little for what the noise"
        text += " here lets be told in reasonable time."
    if bare:
        text += f" {_some(len(bare), len(its), 'has', 'have')} no interval: no A/A pair of"
        text += f" {'its' if len(bare) == 1 else 'their'} engine counts"
        text += _measures_one(bare)
    return text


def _measures_one(bare: Sequence[CellResult]) -> str:
    """What measures their noise; the full stop alone where an engine is not known (any more)."""
    names = [identical.engine(cell) for cell in bare]
    known = [specs.of(name).stack for name in names if name in specs.NAMES]
    if len(known) < len(names):
        return "."
    flag = " --ipex" if stacks.IPEX in known else ""
    return f"; python3 bench.py run{flag} --bench {identical.SUITE} measures one."


def _owner(cell: CellResult) -> Key:
    """The cell whose measurement it has: its own, or the one that it shares."""
    if cell.same_as is None:
        return cell.suite, cell.value
    suite, _, value = cell.same_as.partition("/")
    return suite, value


def _when(near: Sequence[float], whole: int) -> str:
    """ "The next 20 minutes would measure about 28 of them again, 52 min all of them".

    Args:
        near: seconds until each is measured again, in rising order.
        whole: how many are not told.
    """
    which = "it" if whole == 1 else "all of them" if len(near) == whole else f"{len(near)} of them"
    takes = words.duration(max(near[-1], 60))
    soon = sum(seconds <= NEXT_RUN_S for seconds in near)
    if soon in (0, len(near)):
        return f"About {takes} more would measure {which} again"
    return f"The next 20 minutes would measure about {soon} of them again, {takes} {which}"


def _some(part: int, whole: int, singular: str, plural: str) -> str:
    """ "It differs", "They differ", "1 of them differs", "3 of them differ"."""
    who = f"{part} of them" if part < whole else "It" if whole == 1 else "They"
    return f"{who} {singular if part == 1 else plural}"
