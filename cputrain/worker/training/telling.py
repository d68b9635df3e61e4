"""How far a run has come: rows of its table, and from time to time an answer to its launcher."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from cputrain.engines.accuracy import NODES, TOKENS
from cputrain.experiment import Experiment
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import Progressed
from cputrain.worker.training.causes import Counters
from cputrain.worker.training.table import Row, Table

if TYPE_CHECKING:
    from cputrain.data.feed import Feed

EVERY_S = 1.0
"""Seconds between two answers."""
MOST_S = 1e9
"""What an answer can hold: thirty years."""


class Telling:
    """Tells of the steps of one stretch.

    Args:
        experiment, plan: of the run.
        feed: what is trained on.
        table: takes a row for each step.
        say: answers.
    """

    def __init__(
        self,
        experiment: Experiment,
        plan: TrainingPlan,
        feed: Feed,
        table: Table,
        say: Callable[[Progressed], None],
    ) -> None:
        training = experiment.training
        self._tokens, self._steps = training.tokens_per_step, plan.steps
        self._table, self._say = table, say
        self._at_peak_s = plan.at_peak_s
        if plan.at_peak_s is not None and training.packing == "padded":
            self._at_peak_s = plan.at_peak_s * feed.facts()["counted_share"]
        self._since: tuple[float, int] | None = None
        self._told_s = time.monotonic()
        self._row: Row | None = None
        self._is_put = True
        self._seconds: list[float] = []
        self._accuracy: dict[str, float] = {}

    def stepped(self, step: int, loss: float, rate: float, seconds: float) -> None:
        """A step was trained.

        Args:
            step: its number.
            loss: in nats.
            rate: its learning rate.
            seconds: that it took.
        """
        self.put()
        self._seconds.append(seconds)
        share = None if self._at_peak_s is None else self._at_peak_s / seconds
        self._row = Row(step, loss, rate, seconds, self._tokens / seconds, share)
        self._is_put = False
        if self._since is None:  # the first step may compile: the time left is not told by it
            self._since = time.monotonic(), step

    def validated(self, loss: float, accuracy: Mapping[str, float]) -> None:
        """The step before was followed by an evaluation."""
        assert self._row is not None
        self._row.validation_loss, self._accuracy = loss, dict(accuracy)
        self._row.accuracy, self._row.node_accuracy = map(accuracy.get, (TOKENS, NODES))

    def placed(self, counted: Counters) -> None:
        """A window of the watch ended with the step before."""
        assert self._row is not None
        self._row.round_trip_ns, self._row.at_once = counted.round_trip_ns, counted.at_once

    def tell(self, is_last: bool) -> None:
        """Answer, where it is time, or something was evaluated, or the end is there."""
        now, row = time.monotonic(), self._row
        if row is None:
            return
        is_news = is_last or row.validation_loss is not None
        if not self._seconds or (not is_news and now - self._told_s < EVERY_S):
            return
        self._told_s = now
        mean = sum(self._seconds) / len(self._seconds)
        self._seconds.clear()
        self.put()
        self._table.flush()
        self._say(
            Progressed(
                step=row.step,
                loss=row.loss,
                validation_loss=row.validation_loss,
                accuracy=self._accuracy if row.validation_loss is not None else {},
                tokens_per_s=self._tokens / mean,
                mfu=None if self._at_peak_s is None else self._at_peak_s / mean,
                left_s=self._left_s(now, row.step),
            )
        )

    def _left_s(self, now: float, step: int) -> float | None:
        """By the wall time of the stretch so far, with what it evaluated and saved."""
        if self._since is None or step == self._since[1]:
            return None
        start, first = self._since
        return min(MOST_S, (now - start) / (step - first) * (self._steps - step))

    def put(self) -> None:
        """Put the last step's row into the table: nothing is to be added to it."""
        if self._row is not None and not self._is_put:
            self._table.add(self._row)
            self._is_put = True
