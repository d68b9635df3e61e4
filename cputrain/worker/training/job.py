"""What trains a run: build, go on from a checkpoint, train, validate, save.

What it learns does not depend on when it saves or tells.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from cputrain import paths
from cputrain.errors import DidNotTrain
from cputrain.machine.memory import peak_or_reason
from cputrain.record.answers import Phase
from cputrain.record.requests import JobRequest
from cputrain.record.trained import PROGRESS
from cputrain.worker.preparation import Preparation
from cputrain.worker.training import ending, schedule, standing, starting
from cputrain.worker.training.evaluation import Evaluation
from cputrain.worker.training.signals import Stoppable, Stopped
from cputrain.worker.training.table import Table
from cputrain.worker.training.telling import Telling
from cputrain.worker.training.watching import Watching

if TYPE_CHECKING:
    from cputrain.data.feed import Feed
    from cputrain.worker.training.saving import Saving
    from cputrain.worker.training.split import Split

TOO_MUCH = 1e15
"""What a record holds: a loss beyond it is finite for some more steps at most."""


class TrainingJob(Preparation, Stoppable):
    """Trains one run.

    Args:
        request: with a plan.
        descriptor: to answer on.

    Attributes:
        step: the last one that was trained, of the whole run.
    """

    opens_alone = True
    """Whether no other process waits for the data that it opens."""

    def __init__(self, request: JobRequest, descriptor: int) -> None:
        super().__init__(request, descriptor)
        assert request.plan is not None
        self.plan = request.plan
        self.folder = Path(request.folder)
        self.step = self.plan.resume or 0

    def open_feed(self) -> Feed:
        """The documents that are trained on; the others are kept apart.

        Raises:
            Stopped: it was to stop.
        """
        with self.breaking_off() if self.opens_alone else contextlib.nullcontext():
            self.split = self._opened()
        return self.split.training

    def _opened(self) -> Split:
        from cputrain.worker.training.sources import opened

        return opened(
            *(self.experiment, self.plan, paths.DATA, self.request.offline, self.folder),
            say=lambda line: self.say(Phase(what=line)),
        )

    def run(self) -> None:
        """All of it; answers with what comes of it."""
        try:
            self.build()
        except Stopped:
            self.say(ending.before_it_began(self.step, self.folder / PROGRESS, self.phases))
            return
        del self.initial
        start = self.step
        self.begin()
        self.say_started()
        last_loss = None
        while self.step < self.plan.steps and not (self.is_to_stop() or self.saving.is_early_end):
            last_loss = self.train_step()
            if self.step == start + 1:
                self.say_ready()
            is_last = self.step == self.plan.steps
            if self.step % self.plan.validate_every == 0 or is_last:
                self.validate()
            self.saving.save_if_due(self.step)
            self.telling.tell(is_last)
        self.end(last_loss)

    def begin(self) -> None:
        """Everything before the first step; goes on from the checkpoint that the plan names.

        Raises:
            CheckpointError: it is not whole, or of another model or other data.
            EngineError: the engine does not train for long, or the checkpoint does not fit it.
        """
        from cputrain.engines import long_run

        self.hand = long_run.long_run(self.engine, self.plan.clip)
        batches = self.split.validation()
        self.evaluation = Evaluation(self.engine, self.experiment, batches, self.of_all)
        self.say(Phase(what=self.split.documents))
        self.saving = self.make_saving()
        if self.plan.resume is not None:
            with self.phase("resume_s", f"loading the checkpoint of step {self.step}"):
                self.feed.go_to(self.saving.take_up(self.step))
        self.table = self.make_table()
        self.telling = Telling(self.experiment, self.plan, self.feed, self.table, self.say)
        self.watching = Watching(*(self.experiment, self.placement, self.feed), self.step, self.say)

    def say_started(self) -> None:
        """What the model that is fine-tuned says of what is held back."""
        started = starting.started(self.experiment, self.plan, self.started_from, self.evaluation)
        if started is not None:
            self.say(started)

    def make_saving(self) -> Saving:
        """What writes the checkpoints."""
        from cputrain.worker.training.saving import Saving

        return Saving(
            *(self.experiment, self.plan, self.folder, self.split.fingerprint),
            *(self.engine, self.hand, self.keep_rows, self.say),
        )

    def make_table(self) -> Table:
        """What takes the rows of the steps."""
        return Table(self.folder / PROGRESS, self.step)

    def is_to_stop(self) -> bool:
        """Whether to save and end, asked between two steps."""
        return self.stopping

    def of_all(self, loss: float) -> float:
        """The loss of all processes that train together, of each one's: there is one."""
        return loss

    def keep_rows(self, is_synced: bool = True) -> None:
        """Have the rows of all steps so far on disk."""
        self.telling.put()
        self.table.flush(is_synced)

    def train_step(self) -> float:
        """The next step; its loss.

        Raises:
            DidNotTrain: the loss is not finite.
        """
        training, number = self.experiment.training, self.step + 1
        batches = [self.feed.next() for _ in range(training.grad_accum)]
        rate = schedule.rate_at(training, self.plan, number)
        self.hand.set_rate(rate)
        start = time.perf_counter()
        loss = float(self.engine.train_step(*batches))
        self.engine.synchronize()
        seconds = time.perf_counter() - start
        loss = self.of_all(loss)
        self.require_finite(loss, f"the loss of step {number}")
        self.step = number
        self.telling.stepped(number, loss, rate, seconds)
        if (counted := self.watching.stepped(number, seconds)) is not None:
            self.telling.placed(counted)
        return loss

    def say_ready(self) -> None:
        """What was in force at the first step of this stretch."""
        with self.phase("check_s", "checking what is in force"):
            checks = self.in_force()
        self.say(standing.report(self, checks))

    def validate(self) -> None:
        """Evaluate on what is held back.

        Raises:
            DidNotTrain: the loss is not finite.
        """
        evaluated = self.evaluation.evaluate()
        self.require_finite(evaluated.loss, f"the validation loss after step {self.step}")
        self.telling.validated(evaluated.loss, evaluated.accuracy)
        self.saving.validated(self.step, evaluated.loss)

    def require_finite(self, loss: float, what: str) -> None:
        """Raise DidNotTrain for a loss that is not."""
        if not abs(loss) < TOO_MUCH:
            self.keep_rows(is_synced=False)
            raise DidNotTrain(f"{what} is {loss}")

    def end(self, last_loss: float | None) -> None:
        """Save, and say how it ended.

        Args:
            last_loss: of the last step of this stretch, in nats; None where it had none.

        Raises:
            DidNotTrain: a weight is not finite.
            OSError: the checkpoint or the model cannot be written.
        """
        self.telling.tell(True)
        if self.step:
            self.saving.save(self.step)
        self.table.flush()
        is_early = self.step < self.plan.steps and self.saving.is_early_end
        is_done = is_early or self.step == self.plan.steps
        model = self.keep_model() if is_done else {}
        parts = self.table, self.saving, self.evaluation
        ended = ending.report(self.step, is_done, is_early, last_loss, self.phases, *parts)
        self.say(structs.replace(ended, **model, **self.closing()))

    def keep_model(self) -> dict[str, Any]:
        """Write the model of the last step; fields of `Ended` about it."""
        return self.saving.save_model()

    def closing(self) -> dict[str, Any]:
        """Fields of `Ended` about the processes."""
        peak = peak_or_reason("peak_rss_bytes").get("peak_rss_bytes")
        return {"peak_rss_bytes": peak if isinstance(peak, int) else None}
