"""Which weights bf16 lets stand still."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cputrain.experiment import Experiment


def excused(experiment: Experiment, start: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Weights that may stand still, by name, with the reason; see `may_not_move`."""
    reasons = {name: may_not_move(experiment, array) for name, array in start.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def may_not_move(experiment: Experiment, start: np.ndarray) -> str | None:
    """Why a weight tensor with these starting values need not change, or None if it has to.

    In bf16 a weight changes only by an update of more than half its rounding step, and smaller
    ones do not add up, as nothing keeps what was lost. Magnitudes in (2^e, 2^(e+1)] have a step
    of 2^(e-7) below them: at 1, where norms start, an update has to be over 2^-9. It is taken to
    be at most learning_rate * (1 + weight_decay * |w|): so it is with Lion, with AdamW but for
    rarely used weights (Kingma & Ba 2015, sec. 2.1), and with SGD while gradients are below 1.
    """
    training = experiment.training
    if training.precision != "bf16":
        return None
    size = np.abs(start.astype(np.float64))
    # frexp: size = m * 2^e with m in [0.5, 1); at m = 0.5 the step below is half as large.
    mantissa, exponent = np.frexp(size)
    half_step = np.exp2(exponent - 9.0) * np.where(mantissa == 0.5, 0.5, 1.0)
    update = training.learning_rate * (1 + training.weight_decay * size)
    if not start.size or not (size > 0).all() or not (update < half_step).all():
        return None
    smallest = size.min()
    return (
        f"an update of {update.max():.1e} is below half of bf16's rounding step at "
        f"{smallest:g}, {half_step.min():.1e}"
    )
