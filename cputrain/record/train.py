"""A run of many steps: what its worker is told and answers, its checkpoints, its record."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field, structs

from cputrain.record.answers import Failed, Phase, Phases, Ready
from cputrain.record.continued import Continued
from cputrain.record.notices import Notice, Seen
from cputrain.record.part import Count, Number, Part, Parts, Seconds
from cputrain.record.plan import TrainingPlan
from cputrain.record.process import Placement
from cputrain.record.proof import Check
from cputrain.record.worker import WorkerRecord

SCHEMA: Literal[1] = 1
FOLDER, FILE = "train", "train.json"
"""output/<machine>/train/<name>/train.json; the folder has all that the run leaves."""
PROGRESS = "progress.csv"

Step = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Placed(Part, frozen=True, kw_only=True, tag_field="answer", tag="placed"):
    """Where the worker runs."""

    placement: Placement


class Started(Part, frozen=True, kw_only=True, tag_field="answer", tag="started"):
    """A trained model was taken up, and no step was taken yet.

    Attributes:
        validation_loss: of that model, on what the run is validated on.
        trained, weights: weights that the run changes, and all.
    """

    validation_loss: Number
    trained: Count
    weights: Count


class Progressed(Part, frozen=True, kw_only=True, tag_field="answer", tag="progressed"):
    """How far a run has come.

    Attributes:
        step: the last one.
        loss: of it; validation_loss, accuracy: after it, where that was evaluated; see `Ended`.
        tokens_per_s: over the steps since the last such answer; mfu: their share of the peak, None
            where that was not measured.
        left_s: seconds until the end, as the run went so far; None at its first step.
    """

    step: Step
    loss: Number
    validation_loss: Number | None = None
    accuracy: dict[str, Share] = field(default_factory=dict)
    tokens_per_s: Number
    mfu: Number | None = None
    left_s: Seconds | None = None


class Kept(Part, frozen=True, kw_only=True, tag_field="answer", tag="kept"):
    """A checkpoint was written.

    Attributes:
        is_best: its validation loss is the lowest so far.
    """

    step: Count
    size: Count
    is_best: bool = False


class Ended(Part, frozen=True, kw_only=True, tag_field="answer", tag="ended"):
    """The run came to its last step, or was asked to stop; a checkpoint has its last step.

    Attributes:
        is_done: it came to its last step, or to its plan's `patience`.
        waited: evaluations since the lowest validation loss, where it ended early for them.
        training_s: seconds in steps, of all its stretches, as its table of steps has them.
        best_loss, best_step: of the lowest validation loss.
        accuracy: by what is predicted ("tokens", "nodes"), the share of the masked ones that the
            model has right at its last evaluation in this stretch; empty for `no_accuracy`.
        phases: seconds of this stretch; "steps_s", "evaluation_s" and "saving_s" are sums.
        peak_rss_bytes: of several processes their sum; peak_rss_bytes_by_rank: each one's.
        agreed: what all processes showed at the last checkpoint; empty where there is one process.
        model_file: the weights alone, of the last step; None of a run that is not done.
        tokenizer: SHA-256 of its file, beside the weights; None without text.
    """

    step: Count
    is_done: bool
    waited: Count | None = None
    training_s: Seconds
    loss: Number | None = None
    validation_loss: Number | None = None
    best_loss: Number | None = None
    best_step: Count | None = None
    accuracy: dict[str, Share] = field(default_factory=dict)
    no_accuracy: str | None = None
    phases: Phases = field(default_factory=dict)
    peak_rss_bytes: Count | None = None
    peak_rss_bytes_by_rank: list[Count | None] | None = None
    agreed: list[Check] = field(default_factory=list)
    model_file: str | None = None
    tokenizer: str | None = None


TrainingAnswer = Phase | Failed | Placed | Ready | Started | Progressed | Kept | Ended | Notice
DECODER = msgspec.json.Decoder(TrainingAnswer)


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
        worker: what ran, and what was in force, in the last stretch.
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
