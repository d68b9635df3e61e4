"""What was found before the machine was changed, on disk, so that anyone can put it back."""

from __future__ import annotations

import json
import os
import socket
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine.controls.control import Control, HugePageMode
from cputrain.machine.controls.cpufreq import EnergyPreference, Governor, Turbo
from cputrain.machine.controls.frequency import Frequency
from cputrain.machine.reading import ROOT

SCHEMA = 1

CONTROLS: dict[str, type[Control]] = {
    kind.name: kind for kind in (Turbo, Governor, EnergyPreference, Frequency, HugePageMode)
}
"""By name, in the order in which they are set: turbo decides which clocks there are, some
governors fix the preference. A journal holds files of these and of nothing else: root writes what
a journal says."""

DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading a file raises that is not what `save` wrote."""

NAMES_IN_FILE = {"original": "found"}
"""Attributes of a journal that have another name in its file."""

Saved = dict[str, str]
"""What files said, by name."""


def path() -> Path:
    """Where the journal of this machine and project folder is while anything is changed.

    Machines may share a folder: what another one of them has changed is not put back here.
    """
    return paths.STATE / f"machine-changes-{socket.gethostname()}.json"


@dataclass
class Journal:
    """What was found, and in which order it was changed.

    Attributes:
        path: the file.
        id: of this journal: a later one of the same name is not taken for it.
        root: where the changed files are. It is only compared: where anything is written is the
            caller's word, never a file's.
        owner: process and its start in clock ticks since boot: whoever wanted the changes.
        boot: the kernel's id of this boot; the next one forgets what was set.
        original: what each control's files said before anything was written, by control; in the
            file it is called found.
        written: the controls in order of writing, each with what its files said just before.
    """

    path: Path
    id: str
    root: str
    owner: tuple[int, int]
    boot: str
    original: dict[str, Saved]
    written: list[tuple[str, Saved]] = field(default_factory=list)

    def save(self) -> None:
        """Write it down, whole and synced. Raises OSError."""
        from cputrain.atomic import write_json  # not needed where it is only read

        plain = {NAMES_IN_FILE.get(name, name): value for name, value in vars(self).items()}
        del plain["path"]
        write_json(self.path, {"schema": SCHEMA, **plain})

    @classmethod
    def load(cls, path: Path) -> Journal:
        """The journal in `path`.

        Raises:
            FileNotFoundError: there is none, so nothing is changed.
            UsageError: it is damaged, or not a plain file that only this user or root writes.
        """
        data = _read(path)
        try:
            kept = json.loads(data)
            if kept["schema"] != SCHEMA:
                raise ValueError(f"schema {kept['schema']!r}")
            owner = (int(kept["owner"][0]), int(kept["owner"][1]))
            original = {str(name): _saved(name, files) for name, files in kept["found"].items()}
            written = [(str(name), _saved(name, files)) for name, files in kept["written"]]
            root, boot = str(kept["root"]), str(kept["boot"])
            return cls(path, str(kept["id"]), root, owner, boot, original, written)
        except DAMAGE as error:
            raise UsageError(
                f"{path} is damaged ({error}): what it would put back is not known; set the "
                "machine's clock settings by hand, or start it again, then delete the file"
            ) from None

    def has_owner(self) -> bool:
        """Whether the process that wanted the changes still runs."""
        return started(self.owner[0]) == self.owner[1]

    def is_of_this_boot(self) -> bool:
        """Whether the machine has not been started again since."""
        return self.boot == boot()

    def remove(self) -> None:
        """Delete it, unless another has taken its place."""
        try:
            if Journal.load(self.path).id == self.id:
                self.path.unlink()
        except FileNotFoundError:
            return  # somebody else has put everything back


def _read(path: Path) -> bytes:
    """What is in a plain file of this user's or root's that nobody else may write.

    Raises:
        FileNotFoundError: there is none.
        UsageError: it is something else, or cannot be read.
    """
    try:  # neither through a link nor waiting for a pipe's other end
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            kept = os.fstat(handle)
            reason = None
            if not stat.S_ISREG(kept.st_mode):
                reason = "is not a plain file"
            elif kept.st_uid not in (0, os.geteuid()):
                reason = f"belongs to user {kept.st_uid}"
            elif kept.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                reason = "may be written by other users"
            if reason is None:
                return file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = f"cannot be read as a plain file ({error.strerror})"
    raise UsageError(
        f"{path} {reason}, so nothing that it says is put back: whoever changed the machine runs "
        "python3 bench.py restore; delete the file where nobody did"
    )


def _saved(control: str, files: Any) -> Saved:
    if control not in CONTROLS:
        raise ValueError(f"no control {control[:200]!r}")
    for name, text in files.items():
        if not CONTROLS[control].has_file(name):
            raise ValueError(f"{name[:200]!r} is no file of control {control}")
        if not isinstance(text, str) or not (text.isascii() and text.isprintable()):
            raise ValueError(f"{name}: {text!r}")
        if name.endswith("_freq") and not text.isdecimal():
            raise ValueError(f"{name}: {text!r}")
    return dict(files)


def boot() -> str:
    """The kernel's id of this boot."""
    return (ROOT / "proc/sys/kernel/random/boot_id").read_text().strip()


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None where it does not run any more."""
    try:
        text = (ROOT / f"proc/{pid}/stat").read_text()
    except OSError:
        return None
    words = text.rpartition(")")[2].split()
    return None if words[0] in "ZX" else int(words[19])


def me() -> tuple[int, int]:
    """This process as an owner."""
    start = started(os.getpid())
    assert start is not None
    return os.getpid(), start
