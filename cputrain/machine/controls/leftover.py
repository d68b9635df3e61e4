"""Put back what a journal says was found; also one that was left over by processes killed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from cputrain import environ
from cputrain.errors import UsageError
from cputrain.machine.controls.control import Files, machine_root
from cputrain.machine.controls.journal import CONTROLS, Journal

PATIENCE_S = 30.0
"""How long a watchdog may take to be done, on a busy machine."""
PASSES = 3
"""One would do unless a setting can only go back after a later one."""


@dataclass(frozen=True)
class Outcome:
    """What putting back did.

    Attributes:
        back: files and values that were not as found before, and are now.
        left: files that are still not, one line each.
    """

    back: dict[str, str]
    left: list[str]


def undo(journal: Journal, files: Files) -> Outcome:
    """Put everything back in `files` that is not as it was found; the journal is left alone.

    The writes are undone newest first: a governor may hide a value of another setting, which
    can only be put back before the governor is. Then everything is held against what was found.
    """
    before = _different(journal, files)
    for name, saved in reversed(journal.written):
        CONTROLS[name](files).restore(saved)
    for _ in range(PASSES):
        if not _different(journal, files):
            break
        for name, kind in CONTROLS.items():
            kind(files).restore(journal.original.get(name, {}))
    left = _different(journal, files)
    back = {name: was for name, (was, _) in before.items() if name not in left}
    lines = [f"{name} is {now}, and was {was}" for name, (was, now) in left.items()]
    return Outcome(back, lines)


def _different(journal: Journal, files: Files) -> dict[str, tuple[str, str | None]]:
    """By file: what was found at first and what is there now, where that is not the same."""
    different = {}
    for kind, saved in journal.original.items():
        control = CONTROLS[kind](files)
        for name, text in saved.items():
            if (now := control.now(name)) != text:
                different[name] = (text, now)
    return different


def put_back(path: Path, files: Files | None = None) -> list[str] | None:
    """Put back what a left-over journal says.

    Args:
        path: of the journal.
        files: where it is put back; None is this machine, or the made tree of `machine_root`.

    Returns:
        One line for people about each file that was put back, or about why there was nothing to
        do; None where there is no journal.

    Raises:
        UsageError: the journal is damaged or not to be trusted, is about files elsewhere, its
            owner still runs, or the kernel refuses.
    """
    files = files or Files(machine_root())
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
    if journal.root != str(files.root):
        raise UsageError(
            f"{path} is about settings below {journal.root[:200]!r}, and not below {files.root}: "
            f"nothing is put back; a trial with {environ.MACHINE_ROOT} needs the same one again, "
            "else delete the file"
        )
    outcome = undo(journal, files)
    if outcome.left:
        more = f" (and {len(outcome.left) - 1} more)" if len(outcome.left) > 1 else ""
        raise UsageError(
            f"cannot put back what an earlier run changed: {outcome.left[0]}{more}; "
            "run as root: python3 bench.py restore"
        )
    journal.remove()
    return [f"put back: {name} = {value}" for name, value in outcome.back.items()] or [
        "an earlier run left its journal, but nothing changed"
    ]


def wait(path: Path) -> str:
    """Wait until the watchdog of a cell that was stopped is done; one line about it.

    Args:
        path: of the journal, which was there when the cell was stopped.
    """
    end = time.monotonic() + PATIENCE_S
    while path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    if path.exists():
        return "the machine's settings are NOT put back yet: python3 bench.py restore does it"
    return "the machine's settings were put back"
