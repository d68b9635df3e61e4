"""A journal that was left over: whoever changed the machine, and the watchdog, were killed."""

from __future__ import annotations

import time
from pathlib import Path

from cputrain.errors import UsageError
from cputrain.machine.controls.journal import Journal
from cputrain.machine.controls.undoing import put_back as undo


def put_back(path: Path) -> list[str] | None:
    """Put back what a left-over journal says.

    Returns:
        One line for people about each file that was put back, or about why there was nothing to
        do; None where there is no journal.

    Raises:
        UsageError: the journal is damaged, its owner still runs, or the kernel refuses.
    """
    try:
        journal = Journal.load(path)
    except FileNotFoundError:
        return None
    if not journal.is_of_this_boot():
        journal.remove()
        return ["the machine was started again since it was changed: nothing is left of that"]
    if journal.has_owner():
        raise UsageError(
            f"process {journal.owner[0]} is running with this machine's settings changed: "
            "wait for it, or stop it"
        )
    outcome = undo(journal)
    if outcome.left:
        more = f" (and {len(outcome.left) - 1} more)" if len(outcome.left) > 1 else ""
        raise UsageError(
            f"cannot put back what an earlier run changed: {outcome.left[0]}{more}; "
            "run as root: bench.py restore"
        )
    journal.remove()
    return [f"put back: {name} = {value}" for name, value in outcome.back.items()] or [
        "an earlier run left its journal, but nothing changed"
    ]


PATIENCE_S = 2.0


def wait(path: Path) -> str:
    """Wait until the watchdog of a cell that was stopped is done; one line about it.

    Args:
        path: of the journal, which was there when the cell was stopped.
    """
    end = time.monotonic() + PATIENCE_S
    while path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    if path.exists():
        return "the machine's settings are NOT put back yet: bench.py restore does it"
    return "the machine's settings were put back"
