"""How a stretch ended, as a worker reports it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cputrain.record.train import Ended
from cputrain.worker.training import table
from cputrain.worker.training.evaluation import Evaluation

if TYPE_CHECKING:
    from cputrain.worker.training.saving import Saving


def report(
    step: int,
    is_done: bool,
    is_early: bool,
    last_loss: float | None,
    phases: Mapping[str, float],
    rows: table.Table,
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
        rows, saving, evaluation: of this stretch.
    """
    between = {
        "steps_s": rows.added_s,
        "saving_s": saving.seconds,
        "evaluation_s": evaluation.seconds,
    }
    return Ended(
        step=step,
        is_done=is_done,
        waited=saving.waited if is_early else None,
        training_s=rows.training_s,
        loss=last_loss,
        validation_loss=saving.validation_loss,
        best_loss=saving.best_loss,
        best_step=saving.best_step,
        accuracy=evaluation.accuracy,
        no_accuracy=evaluation.no_accuracy,
        phases={**phases, **between},
    )


def before_it_began(step: int, path: Path, phases: Mapping[str, float]) -> Ended:
    """Of a worker that was stopped before it had opened its data: nothing was trained, nor saved.

    Args:
        step: that it was to go on from; 0 of a run that begins.
        path: of the run's table of steps.
        phases: seconds of this stretch.
    """
    seconds = table.seconds(table.kept(path, step))
    return Ended(step=step, is_done=False, training_s=seconds, phases=dict(phases))
