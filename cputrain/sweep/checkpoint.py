"""How far a sweep is, kept in a file so that a stopped one can go on."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cputrain.atomic import write_json
from cputrain.run import recording
from cputrain.run.session import Session
from cputrain.sweep import plan


def wanted(
    session: Session,
    regexes: Sequence[str] | None,
    rounds: int | None,
    suites: Sequence[plan.Planned],
) -> dict[str, Any]:
    """What makes two sweeps the same one, so that the second goes on with the first."""
    commit, dirty = recording.commit()
    return {
        "commit": commit,
        "dirty": dirty,
        "bench": regexes,
        "rounds": rounds,
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
class Checkpoint:
    """How far a sweep is.

    Attributes:
        path: of the file.
        wanted: what it measures.
        session: what its records have in common.
        done: keys of the suites that are measured.
    """

    path: Path
    wanted: dict[str, Any]
    session: str
    done: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path, wanted: dict[str, Any], fresh: bool) -> Checkpoint:
        """That of the stopped sweep that wanted the same, or of a new one."""
        try:
            kept = json.loads(path.read_text())
            if not fresh and kept["wanted"] == wanted and not kept["finished"]:
                return cls(path, wanted, str(kept["session"]), tuple(kept["done"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            pass  # none, or not what `save` writes: nothing to go on with
        stamp = datetime.datetime.now().strftime("%Y%m%dT%H%M%S")
        return cls(path, wanted, f"{stamp}-{os.getpid()}")

    def after(self, suite: str) -> Checkpoint:
        """The checkpoint once `suite` is done, written down."""
        new = replace(self, done=(*self.done, suite))
        new.save()
        return new

    def save(self, finished: bool = False) -> None:
        """Write it down; a finished sweep is not gone on with."""
        kept = {"wanted": self.wanted, "session": self.session, "done": list(self.done)}
        write_json(self.path, {**kept, "finished": finished})
