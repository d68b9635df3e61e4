"""How far a sweep has come, kept in a file so that a stopped one can go on."""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cputrain.atomic import write_json


@dataclass(frozen=True)
class State:
    """How far a sweep has come; kept in a file so that a stopped one can go on."""

    path: Path
    wanted: dict[str, Any]
    session: str
    done: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path, wanted: dict[str, Any], fresh: bool) -> State:
        """The state of the stopped sweep that wanted the same, or of a new one."""
        try:
            kept = json.loads(path.read_text())
            if not fresh and kept["wanted"] == wanted and not kept["finished"]:
                return cls(path, wanted, str(kept["session"]), tuple(kept["done"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            pass  # none, or not what `save` writes: nothing to go on with
        stamp = datetime.datetime.now().strftime("%Y%m%dT%H%M%S")
        return cls(path, wanted, f"{stamp}-{os.getpid()}")

    def after(self, suite: str) -> State:
        """The state once `suite` is done, written down."""
        new = State(self.path, self.wanted, self.session, (*self.done, suite))
        new.save()
        return new

    def save(self, finished: bool = False) -> None:
        """Write it down."""
        kept = {"wanted": self.wanted, "session": self.session, "done": list(self.done)}
        write_json(self.path, {**kept, "finished": finished})
