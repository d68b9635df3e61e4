"""One side of every pair: an interpreter, the code that it runs, a conductor of its workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cputrain import paths
from cputrain.errors import RunError
from cputrain.record.releases import ReleaseSide
from cputrain.run import compiled
from cputrain.run.conductor.client import Lease, Listening
from cputrain.run.failed import CellFailed
from cputrain.run.session import Session

if TYPE_CHECKING:
    from cputrain.sweep import asvenv, plan
    from cputrain.sweep.progress import Progress
    from cputrain.sweep.releases.chosen import Chosen


@dataclass(frozen=True)
class Side:
    """What workers of one side are started with.

    Attributes:
        record: what the comparison keeps of it.
        python: the interpreter of its environment.
        project: folder of its code.
        root: of its data.
    """

    record: ReleaseSide
    python: Path
    project: Path = field(default_factory=lambda: paths.PROJECT)
    root: Path = field(default_factory=lambda: paths.ROOT)


class Source(Protocol):
    """Where the sides come from: requirements, or commits."""

    def choose(self, regexes: Sequence[str] | None) -> tuple[Chosen, list[plan.Planned]]:
        """The cells, and what has to be prepared for them. Raises UsageError and RunError."""

    def sides(self, asv: asvenv.Asv, session: Session, progress: Progress) -> list[Side]:
        """Their environments built and read back. Raises UsageError and RunError."""


class Conducted:
    """A side's conductor and the lease of its workers; they are fresh interpreters of that side's.

    What is compiled is of this side alone.

    Args:
        side: whose workers.
        session: of the comparison.
        place: of the side.

    Raises:
        RunError: the conductor does not start, or cannot be reached; then it is ended.
    """

    def __init__(self, side: Side, session: Session, place: int) -> None:
        self.side = side
        name = f"{session.id}-{place}"
        benchmarks = paths.BENCHMARKS if side.project == paths.PROJECT else _suites(side.project)
        self.session = replace(
            session, id=name, run=name, root=side.root, benchmarks=benchmarks, driven=True
        )
        try:
            env = self.session.to_env()
            self._conductor = Listening(side.python, env, side.project)
            try:
                self.lease = Lease(self._conductor.path)
            except CellFailed:
                self._conductor.close()
                raise
        except CellFailed as failure:
            raise RunError(f"{side.record.label}: {failure.reason}") from failure

    def close(self) -> None:
        """End its workers and the conductor."""
        self.lease.close()
        self._conductor.close()
        compiled.remove(self.session)


def _suites(project: Path) -> Path:
    return project / "benchmarks"
