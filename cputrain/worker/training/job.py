"""The child process that trains a run: build, go on from a checkpoint, train, validate, save.

`python -m cputrain.worker.training.job DESCRIPTOR` reads a `JobRequest` with a plan from its
standard input, and answers (`record.train`) on the descriptor. SIGTERM and SIGINT have it save
after the step in progress, and end. What it learns does not depend on when it saves or tells.
"""

from __future__ import annotations

import math
import platform
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cputrain import paths
from cputrain.errors import DidNotTrain
from cputrain.experiment.parts import SIMULATED
from cputrain.machine import state as machine_state
from cputrain.machine.memory import peak_or_reason
from cputrain.model.counts import counts
from cputrain.record import requests
from cputrain.record.answers import Phase, Ready
from cputrain.record.part import readings, typed
from cputrain.record.process import State
from cputrain.record.requests import JobRequest
from cputrain.record.train import PROGRESS, Checkpoint, Ended, Kept
from cputrain.record.work import Counts, Data
from cputrain.worker import saved, serving
from cputrain.worker.answering import answer, failure
from cputrain.worker.preparation import Preparation
from cputrain.worker.training import checkpoints, schedule
from cputrain.worker.training.table import Table
from cputrain.worker.training.telling import Telling

if TYPE_CHECKING:
    from cputrain.data.feed import Feed

NO_LIMIT = 2**62


class TrainingJob(Preparation):
    """Trains one run.

    Args:
        request: with a plan.
        descriptor: to answer on.

    Attributes:
        stopping: whether it is to save and end.
        step: the last one that was trained, of the whole run.
    """

    def __init__(self, request: JobRequest, descriptor: int) -> None:
        super().__init__(request, descriptor)
        assert request.plan is not None
        self.plan = request.plan
        self.folder = Path(request.folder)
        self.stopping = False
        self.step = self.saved_at = self.plan.resume or 0
        self.validation_loss: float | None = None
        self.best: tuple[float, int] | None = None

    def open_feed(self) -> Feed:
        """The documents that are trained on; the others are kept apart."""
        from cputrain.worker.training.sources import opened

        self.split = opened(self.experiment, self.plan, paths.DATA, self.request.offline)
        return self.split.training

    def run(self) -> None:
        """All of it; answers with what comes of it."""
        self.build()
        del self.initial
        from cputrain.engines import long_run

        self.hand = long_run.long_run(self.engine, self.plan.clip)
        self.validation = self.split.validation()
        self.say(Phase(what=self.split.documents))
        self.go_on()
        self.table = Table(self.folder / PROGRESS, self.step)
        self.telling = Telling(self.experiment, self.plan, self.feed, self.table, self.say)
        self.saved_s = time.monotonic()
        start, last_loss = self.step, None
        while self.step < self.plan.steps and not self.stopping:
            last_loss = self.train_step()
            if self.step == start + 1:
                self.say_ready()
            is_last = self.step == self.plan.steps
            if self.step % self.plan.validate_every == 0 or is_last:
                self.validate()
            elif self.is_due():
                self.save()
            self.telling.tell(is_last)
        self.end(last_loss)

    def go_on(self) -> None:
        """Load the checkpoint that the plan names, or begin."""
        if self.plan.resume is None:
            return
        with self.phase("resume_s", f"loading the checkpoint of step {self.step}"):
            kept = checkpoints.read(self.folder, self.step, self.experiment.identity)
            if kept.data != self.split.fingerprint:
                raise checkpoints.CheckpointError(
                    f"step {self.step} was trained on other data: {kept.data}, "
                    f"here are {self.split.fingerprint}"
                )
            weights, state = checkpoints.tensors(self.folder, kept)
            self.engine.load_weights(weights)
            self.hand.load_state(state)
            self.feed.go_to(kept.next_batch)
            self.validation_loss = kept.validation_loss
            if kept.best_loss is not None and kept.best_step is not None:
                self.best = kept.best_loss, kept.best_step
            checkpoints.forget_after(self.folder, self.step)

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
        if not math.isfinite(loss):
            self.telling.put()
            self.table.flush()
            raise DidNotTrain(f"the loss of step {number} is {loss}")
        self.step = number
        self.telling.stepped(number, loss, rate, seconds)
        return loss

    def say_ready(self) -> None:
        """What was in force at the first step of this stretch."""
        with self.phase("check_s", "checking what is in force"):
            checks = self.in_force()
        self.say(
            Ready(
                readings=self.engine.readings(),
                state=readings(State, machine_state.read(self.all_cpus)),
                phases=self.phases,
                composed=None,
                started_from=self.started_from,
                simulated=SIMULATED.get(self.experiment.training.precision),
                counts=typed(Counts, counts(self.experiment)),
                data=typed(Data, self.feed.facts()),
                versions={"python": platform.python_version(), **self.engine.versions()},
                in_force=checks,
                no_passes=self.engine.no_passes,
            )
        )

    def validate(self) -> None:
        """The loss of what is held back; the best so far is saved.

        Raises:
            DidNotTrain: it is not finite.
        """
        lost = [float(self.engine.loss(batch)) for batch in self.validation]
        loss = math.fsum(lost) / len(lost)
        if not math.isfinite(loss):
            self.telling.put()
            self.table.flush()
            raise DidNotTrain(f"the validation loss after step {self.step} is {loss}")
        self.validation_loss = loss
        self.telling.validated(loss)
        if self.best is None or loss < self.best[0]:
            self.best = loss, self.step
            self.save()
        elif self.is_due():
            self.save()

    def is_due(self) -> bool:
        """Whether a checkpoint is to be written after this step."""
        every = self.plan.save_every
        late = time.monotonic() - self.saved_s > self.plan.save_s
        by_time = every is None and late
        return by_time or any(n and self.step % n == 0 for n in (every, self.plan.keep_every))

    def save(self) -> None:
        """Write a checkpoint.

        Raises:
            DidNotTrain: a weight is not finite: nothing is written.
        """
        import numpy as np

        if self.saved_at == self.step:
            return
        weights = self.engine.weights()
        for name, array in weights.items():
            if not np.isfinite(array).all():
                raise DidNotTrain(f"after step {self.step} {name} has entries that are not finite")
        self.telling.put()
        self.table.flush(is_synced=True)
        best_loss, best_step = self.best or (None, None)
        whole = checkpoints.write(
            self.folder,
            Checkpoint(
                step=self.step,
                next_batch=self.step * self.experiment.training.grad_accum,
                file="",
                sha256="",
                size=0,
                experiment=self.experiment.to_json(),
                identity=self.experiment.identity,
                plan=self.plan,
                data=self.split.fingerprint,
                validation_loss=self.validation_loss,
                best_loss=best_loss,
                best_step=best_step,
            ),
            weights,
            self.hand.state(),
        )
        checkpoints.prune(self.folder, self.plan.keep_every)
        self.saved_at, self.saved_s = self.step, time.monotonic()
        self.say(Kept(step=self.step, size=whole.size, is_best=best_step == self.step))

    def end(self, last_loss: float | None) -> None:
        """Save, and say how it ended."""
        self.telling.tell(True)
        if self.step:
            self.save()
        self.table.flush()
        is_done = self.step == self.plan.steps
        if is_done:
            weights = self.engine.weights()
            saved.save(self.folder, self.experiment, weights, NO_LIMIT)
        best_loss, best_step = self.best or (None, None)
        peak = peak_or_reason("peak_rss_bytes").get("peak_rss_bytes")
        self.say(
            Ended(
                step=self.step,
                is_done=is_done,
                training_s=self.table.training_s,
                loss=last_loss,
                validation_loss=self.validation_loss,
                best_loss=best_loss,
                best_step=best_step,
                peak_rss_bytes=peak if isinstance(peak, int) else None,
                model_file=saved.MODEL if is_done else None,
            )
        )


def main() -> int:
    """Serve one request; 1 where it failed, which the launcher has been told."""
    descriptor = int(sys.argv[-1])
    made: list[TrainingJob] = []
    early: list[int] = []

    def stop(number: int, _: object) -> None:
        early.append(number)
        for job in made:
            job.stopping = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    serving.begin(descriptor)
    line = sys.stdin.readline()
    if not line:
        return 1
    try:
        job = TrainingJob(requests.decode_request(line), descriptor)
        made.append(job)
        job.stopping = bool(early)
        job.run()
    except Exception as error:
        answer(descriptor, failure(error))
        return 1
    return 0


if __name__ == "__main__":
    serving.leave(main)
