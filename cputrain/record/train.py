"""What the worker of a run of many steps answers."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, field

from cputrain.record.answers import Failed, Phase, Phases, Ready
from cputrain.record.notices import Notice
from cputrain.record.part import Count, Number, Part, Seconds
from cputrain.record.process import Placement
from cputrain.record.proof import Check

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
    """A checkpoint was written."""

    step: Count


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
