"""What was found before the machine was changed, on disk, so that anyone can put it back."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine.reading import ROOT

SCHEMA = 1
MAY_BE_WRITTEN = ("/sys/devices/system/cpu/", "/sys/kernel/mm/transparent_hugepage/")
"""Where a journal's files have to be: root writes what a journal says."""

CONTROLS = ("turbo", "governor", "energy_preference", "frequency", "huge_pages")
"""Names of controls that a journal may hold; `undoing` has the classes."""

Saved = dict[str, str]
"""What files said, by name."""


def path() -> Path:
    """Where the journal of this project folder is while anything is changed."""
    return paths.STATE / "machine-changes.json"


@dataclass
class Journal:
    """What was found, and in which order it was changed.

    Attributes:
        path: the file.
        id: of this journal: a later one of the same name is not taken for it.
        root: where the changed files are.
        owner: process and its start in clock ticks since boot: whoever wanted the changes.
        boot: the kernel's id of this boot; the next one forgets what was set.
        found: what each control's files said before anything was written, by control.
        written: the controls in order of writing, each with what its files said just before.
    """

    path: Path
    id: str
    root: str
    owner: tuple[int, int]
    boot: str
    found: dict[str, Saved]
    written: list[tuple[str, Saved]] = field(default_factory=list)

    def save(self) -> None:
        """Write it down, whole and synced. Raises OSError."""
        from cputrain.atomic import write_json  # not needed where it is only read

        plain = {name: value for name, value in vars(self).items() if name != "path"}
        write_json(self.path, {"schema": SCHEMA, **plain})

    @classmethod
    def load(cls, path: Path) -> Journal:
        """The journal in `path`.

        Raises:
            FileNotFoundError: there is none, so nothing is changed.
            UsageError: it is damaged.
        """
        try:
            kept = json.loads(path.read_bytes())
            if kept["schema"] != SCHEMA:
                raise ValueError(f"schema {kept['schema']!r}")
            owner = (int(kept["owner"][0]), int(kept["owner"][1]))
            found = {str(name): _saved(files) for name, files in kept["found"].items()}
            written = [(str(name), _saved(files)) for name, files in kept["written"]]
            for name in (*found, *(name for name, _ in written)):
                if name not in CONTROLS:
                    raise ValueError(f"no control {name!r}")
            root, boot = str(kept["root"]), str(kept["boot"])
            return cls(path, str(kept["id"]), root, owner, boot, found, written)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
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


def _saved(files: Any) -> Saved:
    for name, text in files.items():
        if not isinstance(text, str) or "\n" in text:
            raise ValueError(f"{name}: {text!r}")
        if not name.startswith(MAY_BE_WRITTEN) or ".." in name:
            raise ValueError(f"{name} is no setting of clocks or huge pages")
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
