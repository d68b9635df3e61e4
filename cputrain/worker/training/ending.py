"""How a stretch ended, as a worker reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cputrain.record.train import Ended
from cputrain.worker.training.evaluation import Evaluation
from cputrain.worker.training.table import Table

if TYPE_CHECKING:
    from cputrain.worker.training.saving import Saving


def report(
    step: int,
    is_done: bool,
    is_early: bool,
    last_loss: float | None,
    phases: Mapping[str, float],
    table: Table,
    saving: Saving,
    evaluation: Evaluation,
) -> Ended:
    """Of a worker that has saved; without what is known of its model's file and its processes.

    Args:
        step: the last one, of the whole run.
        is_done: the run is.
        is_early: it is, as the plan's patience was over.
        last_loss: of that step, in nats; None where this stretch had none.
        phases: seconds of this stretch, but for what lies between its first step and its end.
        table, saving, evaluation: of this stretch.
    """
    between = {
        "steps_s": table.added_s,
        "saving_s": saving.seconds,
        "evaluation_s": evaluation.seconds,
    }
    return Ended(
        step=step,
        is_done=is_done,
        waited=saving.waited if is_early else None,
        training_s=table.training_s,
        loss=last_loss,
        validation_loss=saving.validation_loss,
        best_loss=saving.best_loss,
        best_step=saving.best_step,
        accuracy=evaluation.accuracy,
        no_accuracy=evaluation.no_accuracy,
        phases={**phases, **between},
    )
