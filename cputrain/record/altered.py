"""What a run of an altered worker leaves: a demonstration of a fault, and never a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, field

from cputrain.record.evidence import Evidence
from cputrain.record.part import Count, Failure, Number, Part, Parts, StepSeconds

SCHEMA: Literal[1] = 1
FOLDER, FILE = "altered", "altered.json"
"""Where a machine's lie, and what each is called: no reader of run records takes it for one."""
Block = Annotated[list[StepSeconds], Meta(min_length=1)]


def path(output: Path, machine: str, name: str) -> Path:
    """Where the record of an alteration lies."""
    return output / machine / FOLDER / name / FILE


class Losses(Part, frozen=True, kw_only=True):
    """The loss that a side trained on, of its first step and of its last."""

    first: Number
    last: Number
    steps: Count


class Side(Part, frozen=True, kw_only=True):
    """One worker: altered, plain, or the reference.

    Attributes:
        blocks: seconds of each step, block by block.
        disturbed: whether others had the CPUs during each block.
        losses: as it saw them itself, by its own targets.
        said: what the checks and the training gates say of it, by their names: nothing of a side
            that they accept.
        threads: the CPUs that its threads may use, and how many compute.
    """

    blocks: list[Block] = field(default_factory=list)
    disturbed: list[bool] = field(default_factory=list)
    losses: Losses | None = None
    said: dict[str, str] = field(default_factory=dict)
    cpus: list[Count] = field(default_factory=list)
    threads: Count | None = None

    def __post_init__(self) -> None:
        if len(self.disturbed) != len(self.blocks):
            raise ValueError("disturbed: one for each block is needed")


class AlteredEvidence(Evidence, frozen=True, kw_only=True):
    """What an altered worker answers at its end, in the place of its engine's evidence.

    Attributes:
        said: see `Side`.
        cpus: that its first thread may use; masks: the CPUs of every thread.
        threads: how many computed during its last block.
    """

    said: dict[str, str]
    cpus: list[Count]
    masks: list[list[Count]]
    threads: Count


class Altered(Part, frozen=True, kw_only=True):
    """Three workers that took turns, one block each in a round.

    Attributes:
        name: what was altered: see `worker.altered`.
        altered: the experiment with it; plain: the same without; reference: the other experiment.
            None of `plain` where what is altered is no fault.
        order: who was on, block by block.
    """

    schema: Literal[1] = SCHEMA
    name: str
    machine: str
    session: str
    started: str
    commit: str | None
    experiment: Parts
    beside: Parts
    altered: Side
    reference: Side
    plain: Side | None = None
    order: list[str] = field(default_factory=list)
    status: Literal["ok"] | Failure = "ok"
    reason: str | None = None

    def __post_init__(self) -> None:
        sides = [side for side in (self.altered, self.plain, self.reference) if side is not None]
        rounds = {len(side.blocks) for side in sides}
        if self.status == "ok" and (len(rounds) > 1 or rounds == {0}):
            raise ValueError("blocks: each side needs as many, and one at least")
