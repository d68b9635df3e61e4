"""One side of every pair: an interpreter, the code that it runs, a conductor of its workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cputrain import paths
from cputrain.record.releases import ReleaseSide
from cputrain.run.session import Session
from cputrain.sweep.paired.conducted import Conducted

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


def conduct(side: Side, session: Session, place: int) -> Conducted:
    """A side's conductor, of a session of its own: what is compiled is of this side alone.

    Args:
        side: whose workers.
        session: of the comparison.
        place: of the side.

    Raises:
        RunError: see `Conducted`.
    """
    name, record = f"{session.id}-{place}", side.record
    is_here = side.project == paths.PROJECT
    benchmarks = paths.BENCHMARKS if is_here else side.project / "benchmarks"
    own = replace(session, id=name, run=name, root=side.root, benchmarks=benchmarks, driven=True)
    commit = record.commit, record.dirty
    return Conducted(record.label, side.python, own, side.project, commit)
