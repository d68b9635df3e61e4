"""What a worker proves before its numbers count: that the model trained, or only ran forward."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from cputrain.experiment import Experiment
from cputrain.model import shapes
from cputrain.record.proof import Trained

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines import Engine, Weights

STEPS_AFTER_SPIKE = 2


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


def past_spike(
    engine: Engine, first: Batch, first_loss: float, train: Callable[[int], object]
) -> tuple[float, float | None]:
    """The loss of the first batch now, and the one of a single step that was as high as the start.

    A model that learns can be thrown off for one step, by an update as large as any other. So
    where the loss has not fallen, two more steps are trained: it has to have fallen after each.

    Args:
        first: the first batch; `first_loss` was its loss before any step.
        train: trains that many steps.

    Returns:
        The first loss that has not fallen after its step, or the last; the spike's, or None.
    """
    spike = engine.loss(first)
    if spike < first_loss or not math.isfinite(spike):
        return spike, None
    loss = spike
    for _ in range(STEPS_AFTER_SPIKE):
        train(1)
        loss = engine.loss(first)
        if not loss < first_loss:
            break
    return loss, spike


def trained(
    experiment: Experiment,
    engine: Engine,
    first: Batch,
    before: Weights,
    after: Weights,
    losses: tuple[float, float],
    steps: int,
    gradients_hold: bool = False,
) -> Trained:
    """Hold the trained model against its start; what the gates saw.

    Args:
        first: the first batch; `losses` are its own before any step and now.
        before, after: the weights before the first step and now.
        steps: that the worker has trained.
        gradients_hold: all that is trained was seen to have a gradient; else it is looked at.

    Raises:
        DidNotTrain: naming what does not hold.
    """
    from cputrain.worker import gates  # imports NumPy, whose time is the engine's

    names = shapes.trained(experiment)
    moved, excused = 0, {}
    if experiment.training.objective == "forward":
        gates.unchanged(before, after)
        gates.same_loss(*losses)
    else:
        excused = engine.excused()
        if not gradients_hold:
            gates.gradients(engine.gradients(first), names)
        gates.unchanged({n: array for n, array in before.items() if n not in names}, after)
        moved = gates.moved({n: before[n] for n in names}, after, excused)
        gates.loss_fell(*losses)
    return Trained(
        steps_taken=steps,
        steps_done=engine.steps_done,
        parameters=len(before),
        parameters_moved=moved,
        excused=excused,
    )
