"""The learning rate of every step of a run: linear growth, then a cosine down to a share of it."""

from __future__ import annotations

import math

from cputrain.experiment.parts import Training
from cputrain.record.plan import TrainingPlan


def rate_at(training: Training, plan: TrainingPlan, step: int) -> float:
    """The learning rate of update `step`, counted from 1 (Loshchilov & Hutter 2017, eq. 5).

    Update lr_warmup_steps has all of it, update `plan.steps` its `plan.final_share`.
    """
    whole, warm_up = training.learning_rate, training.lr_warmup_steps
    if step <= warm_up:
        return whole * step / warm_up
    gone = (step - warm_up) / max(1, plan.steps - warm_up)
    lowest = plan.final_share
    return whole * (lowest + (1 - lowest) * (1 + math.cos(math.pi * min(1.0, gone))) / 2)
