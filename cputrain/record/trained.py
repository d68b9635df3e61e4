"""What a run of many steps leaves on disk: its checkpoints' facts, and its record."""

from __future__ import annotations

from typing import Literal

from msgspec import field, structs

from cputrain.record.answers import Phases
from cputrain.record.continued import Continued
from cputrain.record.notices import Notice, Seen
from cputrain.record.part import Count, Number, Part, Parts, Seconds
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import Ended, Started, Step
from cputrain.record.worker import WorkerRecord

SCHEMA: Literal[1] = 1
FOLDER, FILE = "train", "train.json"
"""output/<machine>/train/<name>/train.json; the folder has all that the run leaves."""
PROGRESS = "progress.csv"
"""In that folder: a row for each step."""


class Checkpoint(Part, frozen=True, kw_only=True):
    """What lies beside a checkpoint's tensors, and says that they are whole.

    Attributes:
        step: that it was written after.
        next_batch: number of the micro-batch that comes next.
        file, sha256, size: the tensors: weights, optimizer's state, state of random numbers.
        experiment: what was trained; its learning rate and warm-up, with `plan`, are the schedule.
        data: fingerprint of what is trained on.
        validation_loss: the last one so far; best_loss, best_step: the lowest.
        waited: evaluations since the lowest.
    """

    schema: Literal[1] = SCHEMA
    step: Count
    next_batch: Count
    file: str
    sha256: str
    size: Count
    experiment: Parts
    identity: str
    plan: TrainingPlan
    data: str
    validation_loss: Number | None = None
    best_loss: Number | None = None
    best_step: Count | None = None
    waited: Count = 0


class Stretch(Part, frozen=True, kw_only=True):
    """Steps of a run without a break: from a start or a resumption to an end.

    Attributes:
        started: ISO 8601, UTC.
        done: steps that were done before it; last: the last step that it told of.
        processes: that trained together.
        ended: "running" of one that is, or that was killed; "done early" by its `patience`.
        reason: why it failed, or ended early.
        seen: what its watch told.
        phases: see `Ended`; empty where it did not come to an orderly end.
    """

    started: str
    done: Count
    last: Count
    processes: Step = 1
    wall_s: Seconds = 0.0
    ended: Literal["running", "done", "done early", "stopped", "failed"] = "running"
    reason: str | None = None
    seen: Seen = field(default_factory=Seen)
    phases: Phases = field(default_factory=dict)


class Beside(Part, frozen=True, kw_only=True):
    """What was projected for the steps of a run, and what they took.

    Attributes:
        session: of the projection.
        projected_s, low_s, high_s: of all steps; actual_s: seconds in steps.
    """

    session: str
    projected_s: Seconds
    low_s: Seconds | None
    high_s: Seconds | None
    actual_s: Seconds


class TrainRecord(Part, frozen=True, kw_only=True):
    """One run, a file of its own.

    Attributes:
        worker: what ran, and what was in force, in the last stretch that trained a step, or that
            is under way.
        ended: of the last stretch that came to an end; None before.
        started: what a run that fine-tunes started with.
        continued: what the model wrote at the end, where that was asked for.
    """

    schema: Literal[1] = SCHEMA
    name: str
    plan: TrainingPlan
    worker: WorkerRecord
    stretches: list[Stretch] = field(default_factory=list)
    ended: Ended | None = None
    beside: Beside | None = None
    started: Started | None = None
    continued: Continued | None = None

    @property
    def processes(self) -> list[int]:
        """How many have trained its steps together; several numbers where it has changed."""
        return sorted({each.processes for each in self.stretches if each.last > each.done})

    def with_last(self, **changes: object) -> TrainRecord:
        """With some fields of its last stretch changed."""
        last = structs.replace(self.stretches[-1], **changes)
        return structs.replace(self, stretches=[*self.stretches[:-1], last])

    def with_notice(self, notice: Notice) -> TrainRecord:
        """With what the watch of its last stretch told."""
        return self.with_last(seen=self.stretches[-1].seen.also(notice))
