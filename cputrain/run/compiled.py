"""Where workers keep compiled code: one compilation for each experiment and session.

A worker that times a cold first step finds an empty folder; who runs the same later in the session
finds what it, or another, compiled. Without bench.py every worker has a folder of its own.
Standard library only.
"""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

from cputrain.experiment import Experiment
from cputrain.run.placement import COMPILED
from cputrain.run.session import Session

FILLED = "filled"
"""A file beside the code that says that a worker has compiled all of it."""


@dataclass(frozen=True)
class Folder:
    """A folder for compiled code.

    Attributes:
        path: of it; None where the worker makes one of its own.
        is_filled: whether the code is there.
        stays: whether it is left for later workers.
    """

    path: Path | None = None
    is_filled: bool = False
    stays: bool = False

    @property
    def has_code(self) -> bool:
        """Whether the worker finds code there, if only of a part: it compiles less then."""
        return self.is_filled or (self.path is not None and any(self.path.glob("*")))

    def fill(self) -> None:
        """Note that a worker has compiled its code."""
        if self.path is not None and self.stays:
            (self.path / FILLED).touch()


def folder(session: Session, experiment: Experiment) -> Folder:
    """The folder for a worker of `experiment`; of eager engines none.

    A cold start finds nothing, and code of a worker that did not come so far as to say that all is
    there is left alone: both get folders of their own. JAX's cache is off where steps are steady.

    Args:
        session: that it belongs to.
        experiment: settled.
    """
    runtime = experiment.runtime
    if runtime.compile == "eager" or (runtime.compile == "xla" and runtime.jit_state == "steady"):
        return Folder()
    own = Folder(COMPILED / uuid.uuid4().hex) if runtime.jit_state == "warm" else Folder()
    if not session.driven:
        return own
    path = COMPILED / session.id / experiment.but(jit_state="steady").identity
    if not path.exists():
        return Folder(path, stays=True)
    filled = (path / FILLED).exists()
    return Folder(path, filled, stays=True) if filled and runtime.jit_state != "cold" else own


def remove(session: Session) -> None:
    """Remove the compiled code of a session."""
    shutil.rmtree(COMPILED / session.id, ignore_errors=True)
