"""When a run is saved, what goes into a checkpoint, and how it is taken up again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cputrain.errors import DidNotTrain
from cputrain.experiment import Experiment
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import Kept
from cputrain.record.trained import Checkpoint
from cputrain.worker import gates
from cputrain.worker.training import checkpoints, whole

if TYPE_CHECKING:
    from cputrain.engines import Engine
    from cputrain.engines.long_run import LongRun
    from cputrain.worker.training.checkpoints import Arrays


class Saving:
    """The checkpoints of one run.

    Args:
        experiment, plan: of the run.
        folder: of the run.
        data: fingerprint of what is trained on.
        engine, hand: what is saved.
        before: called before a checkpoint: what its steps left has to be on disk by then.
        say: answers.

    Attributes:
        validation_loss: the last one.
        best_loss, best_step: of the lowest validation loss so far.
        waited: evaluations since then.
        seconds: that it took to write checkpoints and the model.
    """

    def __init__(
        self,
        experiment: Experiment,
        plan: TrainingPlan,
        folder: Path,
        data: str,
        engine: Engine,
        hand: LongRun,
        before: Callable[[], None],
        say: Callable[[Kept], None],
    ) -> None:
        self._experiment, self._plan, self._folder = experiment, plan, folder
        self._data, self._engine, self._hand = data, engine, hand
        self._before, self._say = before, say
        self._at, self._since = plan.resume or 0, time.monotonic()
        self.validation_loss: float | None = None
        self.best_loss: float | None = None
        self.best_step: int | None = None
        self.waited = 0
        self.seconds = 0.0

    def take_up(self, step: int) -> int:
        """Put the checkpoint of a step into the engine; the number of the next micro-batch.

        Raises:
            CheckpointError: it is not whole, or of another model or other data.
            EngineError: it does not fit the engine.
            OSError: what says which is the best cannot be written.
        """
        checkpoint = checkpoints.read(self._folder, step, checkpoints.identity(self._experiment))
        if checkpoint.data != self._data:
            raise checkpoints.CheckpointError(
                f"step {step} was trained on other data: {checkpoint.data}, here are {self._data}"
            )
        weights, state = checkpoints.tensors(self._folder, checkpoint)
        self._engine.load_weights(weights)
        self._hand.load_state(self._own(state, step))
        self.validation_loss = checkpoint.validation_loss
        self.best_loss, self.best_step = checkpoint.best_loss, checkpoint.best_step
        self.waited = checkpoint.waited
        self._forget_after(step)
        return checkpoint.next_batch

    def _own(self, state: Arrays, step: int) -> Arrays:
        """What of a checkpoint's state is for this process."""
        return {n: array for n, array in state.items() if not n.startswith(checkpoints.RANKS)}

    def _forget_after(self, step: int) -> None:
        checkpoints.forget_after(self._folder, step)
        checkpoints.point_to_best(self._folder, self.best_step)

    def validated(self, step: int, loss: float) -> None:
        """Note an evaluation; the best so far is saved."""
        self.validation_loss = loss
        if self.best_loss is None or loss < self.best_loss:
            self.best_loss, self.best_step, self.waited = loss, step, 0
            self.save(step)
        else:
            self.waited += 1

    @property
    def is_early_end(self) -> bool:
        """Whether the plan ends the run here: its patience is over."""
        return self._plan.patience is not None and self.waited >= self._plan.patience

    def save_if_due(self, step: int) -> None:
        """Save where the plan says so."""
        every = self._plan.save_every
        by_time = every is None and self._is_time()
        if by_time or any(n and step % n == 0 for n in (every, self._plan.keep_every)):
            self.save(step)

    def _is_time(self) -> bool:
        return time.monotonic() - self._since > self._plan.save_s

    def save(self, step: int) -> None:
        """Write a checkpoint, unless this step has one.

        Raises:
            DidNotTrain: a weight is not finite, or steps are missing: nothing is written.
            OSError: it cannot be written; earlier ones are as they were.
        """
        if self._at == step:
            return
        start = time.perf_counter()
        self._write(step)
        self._at, self._since = step, time.monotonic()
        self.seconds += time.perf_counter() - start

    def save_model(self) -> dict[str, str]:
        """Write the model, as it is after the last step; fields of `Ended` about it.

        Raises:
            OSError: it cannot be written.
        """
        start = time.perf_counter()
        written = whole.save(self._folder, self._experiment, self._engine.weights())
        self.seconds += time.perf_counter() - start
        return written

    def _write(self, step: int) -> None:
        gates.steps(step, self._engine.steps_done)
        weights = self._engine.weights()
        for name, array in weights.items():
            if not np.isfinite(array).all():
                raise DidNotTrain(f"after step {step} {name} has entries that are not finite")
        self._before()
        checkpoints.write(
            self._folder,
            Checkpoint(
                step=step,
                next_batch=step * self._experiment.training.grad_accum,
                file="",
                sha256="",
                size=0,
                experiment=self._experiment.to_json(),
                identity=checkpoints.identity(self._experiment),
                plan=self._plan,
                data=self._data,
                validation_loss=self.validation_loss,
                best_loss=self.best_loss,
                best_step=self.best_step,
                waited=self.waited,
            ),
            weights,
            self._state(),
        )
        checkpoints.prune(self._folder, self._plan.keep_every)
        self._say(Kept(step=step))

    def _state(self) -> Arrays:
        return self._hand.state()
