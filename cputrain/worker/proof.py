"""What a worker proves before its numbers count: that the model trained, or only ran forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cputrain.experiment import Experiment
from cputrain.model import shapes
from cputrain.record.proof import Trained

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines import Engine, Weights


def start_loss(engine: Engine, first: Batch, before: Weights, after: Weights) -> float:
    """The loss of the first batch before any step, as the engine computes it now.

    A compiled engine is not asked before its first step, which compiles; and that step's own loss
    is that of all its micro-batches, with dropout.

    Args:
        before, after: the weights before the first step and now, which are put back.
    """
    engine.load_weights(before)
    try:
        return engine.loss(first)
    finally:
        engine.load_weights(after)


def trained(
    experiment: Experiment,
    engine: Engine,
    first: Batch,
    before: Weights,
    after: Weights,
    first_loss: float,
    steps: int,
    gradients_hold: bool = False,
) -> tuple[Trained, float]:
    """Hold the trained model against its start; what the gates saw, and the loss now.

    Args:
        first: the first batch; `first_loss` was its loss before any step.
        before, after: the weights before the first step and now.
        steps: that the worker has trained.
        gradients_hold: all that is trained was seen to have a gradient; else it is looked at.

    Raises:
        DidNotTrain: naming what does not hold.
    """
    from cputrain.worker import gates  # imports NumPy, whose time is the engine's

    names = shapes.trained(experiment)
    last_loss, moved, excused = engine.loss(first), 0, {}
    if experiment.training.objective == "forward":
        gates.unchanged(before, after)
        gates.same_loss(first_loss, last_loss)
    else:
        excused = engine.excused()
        if not gradients_hold:
            gates.gradients(engine.gradients(first), names)
        gates.unchanged({n: array for n, array in before.items() if n not in names}, after)
        moved = gates.moved({n: before[n] for n in names}, after, excused)
        gates.loss_fell(first_loss, last_loss)
    seen = Trained(
        steps_taken=steps,
        steps_done=engine.steps_done,
        parameters=len(before),
        parameters_moved=moved,
        excused=excused,
    )
    return seen, last_loss
