"""Where workers keep compiled code: one compilation for each experiment and session.

A worker that times a cold first step finds an empty folder; who runs the same later in the session
finds what it, or another, compiled. Without bench.py every worker has a folder of its own.
What inductor compiles before any model's code, torch's headers, is a quarter of what a first
step compiles: workers whose steps are steady share it, whatever they run.
Standard library only.
"""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

from cputrain.experiment import Experiment
from cputrain.run import fresh
from cputrain.run.placement import COMPILED
from cputrain.run.session import Session

FILLED = "filled"
"""A file beside the code that says that a worker has compiled all of it."""
HEADERS = "headers"
"""In a session's folder: temporary files of the workers that share them, and the headers there."""


@dataclass(frozen=True)
class Folder:
    """A folder for compiled code.

    Attributes:
        path: of it; None where the worker makes one of its own.
        is_filled: whether the code is there.
        stays: whether it is left for later workers.
        headers: where the session's workers have inductor's headers; None where they have none.
        shares: whether this worker has them there too; a cold start makes its own, and leaves them.
    """

    path: Path | None = None
    is_filled: bool = False
    stays: bool = False
    headers: Path | None = None
    shares: bool = False

    @property
    def has_code(self) -> bool:
        """Whether the worker finds code there, if only of a part: it compiles less then."""
        folders = (self.path, self.headers if self.shares else None)
        return self.is_filled or any(any(f.glob("*")) for f in folders if f is not None)

    def open(self) -> None:
        """Make it where it shares headers; before a worker starts."""
        if self.path is not None and self.headers is not None and self.shares:
            self.headers.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(exist_ok=True)
            (self.path / fresh.TEMPORARY).symlink_to(self.headers)

    def fill(self) -> None:
        """Note that a worker has compiled its code."""
        if self.path is None or not self.stays:
            return
        (self.path / FILLED).touch()
        if self.headers is not None and not self.headers.exists():
            self.headers.symlink_to(self.path / fresh.TEMPORARY)


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
    path = COMPILED / session.id / _code(experiment)
    if not path.exists():
        headers = COMPILED / session.id / HEADERS if runtime.compile == "inductor" else None
        steady = runtime.jit_state == "steady"
        return Folder(path, stays=True, headers=headers, shares=steady and headers is not None)
    filled = (path / FILLED).exists()
    return Folder(path, filled, stays=True) if filled and runtime.jit_state != "cold" else own


def _code(experiment: Experiment) -> str:
    """What compiled code is of: of g++'s, which calls whatever OpenMP is loaded, without that."""
    plain = experiment.but(jit_state="steady")
    if plain.runtime.compile == "inductor" and plain.runtime.cxx != "clang++":
        plain = plain.but(omp_runtime=Experiment().system.omp_runtime)
    return plain.identity


def remove(session: Session) -> None:
    """Remove the compiled code of a session."""
    shutil.rmtree(COMPILED / session.id, ignore_errors=True)
