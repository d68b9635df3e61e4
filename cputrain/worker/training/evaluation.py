"""What a run is worth on the documents held back: the loss, and how much of what is masked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cputrain.engines import accuracy
from cputrain.experiment import Experiment

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines import Engine


@dataclass(frozen=True)
class Evaluated:
    """One evaluation.

    Attributes:
        loss: the mean of the micro-batches' losses, in nats.
        accuracy: by what is predicted, the share of all targets that are right; may be empty.
    """

    loss: float
    accuracy: dict[str, float] = field(default_factory=dict)


class Evaluation:
    """Evaluates on the same micro-batches each time; nothing is trained on them.

    Args:
        engine: as it is at that time.
        experiment: of the run.
        batches: one at least.
        of_all: of a loss of this process, that of all which train together.

    Attributes:
        no_accuracy: why none is told; None where it is.
        accuracy: of the last evaluation.
        seconds: of all evaluations.
    """

    def __init__(
        self,
        engine: Engine,
        experiment: Experiment,
        batches: Sequence[Batch],
        of_all: Callable[[float], float] = float,
    ) -> None:
        self._engine, self._batches, self._of_all = engine, batches, of_all
        self.no_accuracy = accuracy.why_none(engine, experiment)
        self.accuracy: dict[str, float] = {}
        self.seconds = 0.0

    def evaluate(self) -> Evaluated:
        """The loss, and where tokens are masked how many of them are right."""
        start = time.perf_counter()
        evaluated = self._losses() if self.no_accuracy else self._scores()
        self.accuracy = evaluated.accuracy
        self.seconds += time.perf_counter() - start
        return evaluated

    def _losses(self) -> Evaluated:
        losses = [float(self._engine.loss(batch)) for batch in self._batches]
        return Evaluated(self._of_all(_mean(losses)))

    def _scores(self) -> Evaluated:
        assert isinstance(self._engine, accuracy.Scores)
        scored = [self._engine.score(batch) for batch in self._batches]
        shares = {}
        for name in scored[0][1]:
            right, count = (sum(hits[name][place] for _, hits in scored) for place in (0, 1))
            shares[name] = right / count
        return Evaluated(_mean([loss for loss, _ in scored]), shares)


def _mean(losses: Sequence[float]) -> float:
    return math.fsum(losses) / len(losses)
