"""What a comparison of releases or commits leaves behind: its sides, and every pair of workers."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from cputrain.record.cell import CellKey
from cputrain.record.part import Count, Part, Seconds, Status
from cputrain.record.worker import WorkerRecord

SCHEMA: Literal[1] = 1
FILE = "compare.json"
FOLDER = "compare"
"""Beside the suites' folders, and below result/<machine>; one place in it for each comparison."""


class ReleaseSide(Part, frozen=True, kw_only=True):
    """What one side of every pair runs on.

    Attributes:
        label: what was asked, in its words.
        installed: name and version of all that is installed there, read back before measuring.
        commit, dirty: of the code, and files of it that differ from the commit.
    """

    label: str
    installed: dict[str, str]
    commit: str | None = None
    dirty: list[str] = field(default_factory=list)


class TakenPair(Part, frozen=True, kw_only=True):
    """A fresh worker of one side beside a fresh worker of another.

    Attributes:
        key: of the cell that both run.
        number: of the pass, from 1.
        sides: places of the reference's side and the other's; the same twice is A/A.
        reference, worker: their records. `worker` has the pairs of blocks.
        steps_done: after each pair of blocks, how many steps the reference and the worker had done.
        status, reason: "ok" once both have proven that they train.
        wall_s: seconds that it took.
    """

    key: CellKey
    number: Count
    sides: tuple[Count, Count]
    reference: WorkerRecord | None = None
    worker: WorkerRecord | None = None
    steps_done: list[tuple[Count, Count]] = field(default_factory=list)
    status: Status = "unproven"
    reason: str | None = None
    wall_s: Seconds = 0.0

    @property
    def is_identical(self) -> bool:
        """Whether both workers are of one side: what they differ by is noise."""
        return self.sides[0] == self.sides[1]


class ReleasesRecord(Part, frozen=True, kw_only=True):
    """One comparison: a file of its own, written after each pair of workers.

    Attributes:
        session: its name.
        started: ISO 8601, UTC.
        commit, dirty: of the code that conducts it, and files that differ from the commit.
        seed: of the orders.
        budget_s: seconds that were given.
        took_s: seconds that it took, so far.
        sides: two or more; the first is what the others are compared with.
        left_out: cells that could not be compared, each with the reason.
        taken: pairs of workers, in the order of time.
        status: "ok" once it has come to its end.
    """

    schema: Literal[1] = SCHEMA
    session: str
    machine: str
    started: str
    commit: str | None = None
    dirty: list[str] = field(default_factory=list)
    seed: Count
    budget_s: Annotated[float, Meta(gt=0)]
    took_s: Seconds = 0.0
    sides: Annotated[list[ReleaseSide], Meta(min_length=2)]
    left_out: dict[str, str] = field(default_factory=dict)
    taken: list[TakenPair] = field(default_factory=list)
    status: Status = "unproven"

    def __post_init__(self) -> None:
        for pair in self.taken:
            if max(pair.sides) >= len(self.sides):
                raise ValueError(f"taken: there is no side {max(pair.sides)}")
