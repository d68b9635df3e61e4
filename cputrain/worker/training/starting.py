"""What a run that fine-tunes does before its first step: it says how good the model is so far."""

from __future__ import annotations

import math

from cputrain.errors import DidNotTrain
from cputrain.experiment import Experiment
from cputrain.model.shapes import n_params, n_trained
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import Started
from cputrain.record.work import SavedStart
from cputrain.worker.saved import SavedModelError
from cputrain.worker.training.evaluation import Evaluation


def started(
    experiment: Experiment,
    plan: TrainingPlan,
    started_from: SavedStart | None,
    evaluation: Evaluation,
) -> Started | None:
    """What the model says of the text that is held back; None of a run that starts from scratch,
    or goes on from a checkpoint.

    Raises:
        SavedModelError: the file that was read is not the one that the plan says.
        DidNotTrain: a loss is not finite.
    """
    if plan.start is None or plan.resume is not None:
        return None
    if started_from is None or started_from.sha256 != plan.start.sha256:
        raise SavedModelError(f"{plan.start.file} has changed since the run was asked for")
    loss = evaluation.evaluate().loss
    if not math.isfinite(loss):
        raise DidNotTrain(f"the validation loss of {plan.start.name} is {loss}")
    return Started(
        validation_loss=loss, trained=n_trained(experiment), weights=n_params(experiment)
    )
