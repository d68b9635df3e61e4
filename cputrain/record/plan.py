"""What a run of many steps is to be, beside its experiment."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from cputrain.record.continued import Prompt
from cputrain.record.part import Count, Part, Seconds

Steps = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(gt=0, lt=1)]


class Start(Part, frozen=True, kw_only=True):
    """The trained model that a run starts from.

    Attributes:
        name: of the run, or of the file.
        file: the weights; read once, when the run starts.
        sha256: of that file.
        tokenizer: SHA-256 of its tokenizer, a copy of which lies in the new run's folder.
    """

    name: str
    file: str
    sha256: str
    tokenizer: str


class TrainingPlan(Part, frozen=True, kw_only=True):
    """The plan of a run.

    Attributes:
        steps: of the whole run; the learning rate decays until then.
        clip: the most that the norm of a step's gradients may be; None leaves them.
        final_share: of the learning rate, at the last step.
        validation_share: of the documents, which are never trained on.
        validate_every: steps between evaluations.
        validation_batches: micro-batches of an evaluation at most.
        save_s: seconds between checkpoints; save_every: steps between them, in its place.
        keep_every: checkpoints of its multiples stay.
        resume: the step whose checkpoint is gone on from; None starts anew.
        at_peak_s: seconds of a step's matrix products at the measured peak; None if unknown.
        patience: evaluations without a lower validation loss that end the run; None is off.
        tensorboard: whether event files are written beside the table of steps.
        files: what is trained on instead of the corpus.
        start: what is fine-tuned; None trains from scratch.
        prompt: what the model continues at the end.
    """

    steps: Steps
    clip: Annotated[float, Meta(gt=0)] | None = None
    final_share: Annotated[float, Meta(ge=0, le=1)] = 0.1
    validation_share: Share = 0.05
    validate_every: Steps = 100
    validation_batches: Steps = 16
    save_s: Seconds = 300.0
    save_every: Steps | None = None
    keep_every: Steps | None = None
    resume: Count | None = None
    at_peak_s: Seconds | None = None
    patience: Steps | None = None
    tensorboard: bool = False
    files: list[str] = field(default_factory=list)
    start: Start | None = None
    prompt: Prompt | None = None

    @property
    def verb(self) -> str:
        """The verb of the command line that makes such runs."""
        return "train" if self.start is None else "finetune"
