"""How far a sweep is, kept in a file so that a stopped one can go on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.atomic import write_json
from cputrain.run import measured, recording, uncommitted
from cputrain.run.session import Session, new_name
from cputrain.sweep import plan


def file(mode: str, regexes: Sequence[str] | None) -> Path:
    """Where a sweep's checkpoint is: each `--bench` has its own, and leaves that of all suites."""
    digest = hashlib.sha256(json.dumps(regexes).encode()).hexdigest()[:8]
    return paths.STATE / (f"sweep-{mode}-{digest}.json" if regexes else f"sweep-{mode}.json")


def wanted(
    session: Session,
    regexes: Sequence[str] | None,
    suites: Sequence[plan.Planned],
) -> dict[str, Any]:
    """What makes two sweeps the same one, so that the second goes on with the first."""
    return {
        "machine": session.machine,
        "commit": recording.commit()[0],
        "changes": uncommitted.changes(),
        "bench": regexes,
        "machine_changes": session.allow_machine_changes,
        "libraries": session.libraries,
        "cells": {
            p.key: [
                [c.experiment.identity, dataclasses.asdict(c.experiment.budget)] for c in p.cells
            ]
            for p in suites
        },
    }


@dataclass(frozen=True)
class SweepCheckpoint:
    """How far a sweep is.

    Attributes:
        path: of the file.
        wanted: what it measures.
        session: what its records have in common.
        number: of the pass in progress, from 1.
        done: keys of the suites that this pass has measured.
        chosen: what this pass takes, where it is not the first (`passes.Further.kept`); None where
            it is not planned yet.
        all_passes: how many a sweep was to take at most that came to its end with them, though
            more would tell more; None where none has.
    """

    path: Path
    wanted: dict[str, Any]
    session: str
    number: int = 1
    done: tuple[str, ...] = ()
    chosen: dict[str, Any] | None = None
    all_passes: int | None = None

    @classmethod
    def open(
        cls, path: Path, wanted: dict[str, Any], fresh: bool, passes: int | None = None
    ) -> SweepCheckpoint:
        """That of the sweep that wanted the same and left something to do, or of a new one.

        Args:
            path: of the file.
            wanted: what it measures.
            fresh: whether a new one begins in any case.
            passes: at most; None where only the time ends them.
        """
        kept = None if fresh else cls._unfinished(path)
        if kept is None or kept.wanted != wanted:
            return cls(path, wanted, new_name())
        has_all = passes is not None and kept.all_passes is not None and passes <= kept.all_passes
        return cls(path, wanted, new_name()) if has_all else kept

    @classmethod
    def left_behind(cls, path: Path, wanted: dict[str, Any]) -> str | None:
        """One line: a stopped sweep wanted something else; None where there is none of these."""
        kept = cls._unfinished(path)
        if kept is None or kept.wanted == wanted:
            return None
        if kept.number == 1 and not kept.done and not measured.any_done(kept.session):
            return None
        for what, letters in (("machine", None), ("commit", 8)):
            before, now = (str(its.get(what))[:letters] for its in (kept.wanted, wanted))
            if what in kept.wanted and before != now:
                return f"was of {what} {before}, this one is of {now}"
        return "was of other files, cells or settings"

    @classmethod
    def _unfinished(cls, path: Path) -> SweepCheckpoint | None:
        try:
            kept = json.loads(path.read_text())
            number, done = int(kept["number"]), tuple(kept["done"])
            wanted, session = dict(kept["wanted"]), str(kept["session"])
            chosen = dict(kept["chosen"]) if kept.get("chosen") else None
            all_passes = None if kept.get("all_passes") is None else int(kept["all_passes"])
            unfinished = cls(path, wanted, session, number, done, chosen, all_passes)
            return None if kept["finished"] else unfinished
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None  # none, or not what `save` writes: nothing to go on with

    def after(self, suites: Iterable[str]) -> SweepCheckpoint:
        """The checkpoint once this pass has measured `suites`, written down."""
        new = replace(self, done=(*self.done, *suites))
        new.save()
        return new

    def next_pass(self) -> SweepCheckpoint:
        """The checkpoint at the beginning of the next pass, written down."""
        new = replace(self, number=self.number + 1, done=(), chosen=None)
        new.save()
        return new

    def planned(self, chosen: dict[str, Any]) -> SweepCheckpoint:
        """The checkpoint once it is planned what this pass takes, written down."""
        new = replace(self, chosen=chosen)
        new.save()
        return new

    def save(self, finished: bool = False) -> None:
        """Write it down; a finished sweep is not gone on with."""
        names = ("wanted", "session", "number", "done", "chosen", "all_passes")
        kept = {name: getattr(self, name) for name in names}
        write_json(self.path, {**kept, "finished": finished})
