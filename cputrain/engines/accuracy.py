"""How much of what is masked a model has right: what an engine may tell beside its loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cputrain.experiment import Experiment

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines import Engine

TOKENS, NODES = "tokens", "nodes"
"""What is predicted: by the token head, and by the node head."""

Hits = dict[str, tuple[int, int]]
"""By what is predicted: how many targets have the largest logit, and how many targets count."""


@runtime_checkable
class Scores(Protocol):
    """An engine that counts hits."""

    def score(self, batch: Batch) -> tuple[float, Hits]:
        """The loss without dropout, as `Engine.loss`, and the hits, from one forward pass."""


def why_none(engine: Engine, experiment: Experiment) -> str | None:
    """Why no accuracy is told; None where `engine` is one of `Scores` and is to be asked."""
    if not experiment.training.is_masked:
        return "it is counted over masked tokens, and this objective masks none"
    if not isinstance(engine, Scores):
        return f"the {engine.name} engine does not count what it has right"
    return None
