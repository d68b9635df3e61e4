"""Put back what a journal says was found, in an order that the kernel takes, and read it again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cputrain.machine.controls.control import Control
from cputrain.machine.controls.files import Files
from cputrain.machine.controls.frequency import Frequency
from cputrain.machine.controls.governor import EnergyPreference, Governor
from cputrain.machine.controls.huge_pages import HugePageMode
from cputrain.machine.controls.journal import Journal
from cputrain.machine.controls.turbo import Turbo

CONTROLS: dict[str, type[Control]] = {
    kind.name: kind for kind in (Turbo, Governor, EnergyPreference, Frequency, HugePageMode)
}
"""By name, in the order in which they are set: turbo decides which clocks there are, some
governors fix the preference."""
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


def put_back(journal: Journal, files: Files | None = None) -> Outcome:
    """Put everything back that is not as it was found; the journal is left to the caller.

    The writes are undone newest first: a governor may hide a value of another setting, which
    can only be put back before the governor is. Then everything is held against what was found.
    """
    files = files or Files(Path(journal.root))
    before = _different(journal, files)
    for name, saved in reversed(journal.written):
        CONTROLS[name](files).restore(saved)
    for _ in range(PASSES):
        if not _different(journal, files):
            break
        for name, kind in CONTROLS.items():
            kind(files).restore(journal.found.get(name, {}))
    left = _different(journal, files)
    back = {name: asked for name, (asked, _) in before.items() if name not in left}
    lines = [f"{name} is {now}, and was {asked}" for name, (asked, now) in left.items()]
    return Outcome(back, lines)


def _different(journal: Journal, files: Files) -> dict[str, tuple[str, str | None]]:
    """By file: what was found at first and what is there now, where that is not the same."""
    different = {}
    for kind, saved in journal.found.items():
        control = CONTROLS[kind](files)
        for name, text in saved.items():
            if (now := control.now(name)) != text:
                different[name] = (text, now)
    return different
