"""Proof that a model really trained: every step done, every weight moved, the loss fell.

What targets have to be is in `data.targets`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from cputrain.errors import DidNotTrain

Weights = Mapping[str, np.ndarray]


def steps(expected: int, done: int) -> None:
    """The optimizer's own counter agrees with the steps that were asked for."""
    if expected != done:
        raise DidNotTrain(f"{expected} steps were asked for, the optimizer counted {done}")


def finite(losses: Iterable[float]) -> None:
    """Every step's loss is a number.

    Raises:
        DidNotTrain: naming the first that is not.
    """
    for step, loss in enumerate(losses, 1):
        if not math.isfinite(loss):
            raise DidNotTrain(f"the loss of step {step} is {loss}")


def moved(before: Weights, after: Weights, excused: Mapping[str, str] | None = None) -> int:
    """Every weight tensor is finite and has changed; how many have.

    Args:
        before, after: the weights before the first step and now.
        excused: tensors that need not have changed, each with the reason.

    Raises:
        DidNotTrain: naming the first tensor that is missing, not finite or has not changed.
    """
    count = 0
    for name, start in before.items():
        if name not in after:
            raise DidNotTrain(f"{name} is gone")
        if not np.isfinite(after[name]).all():
            raise DidNotTrain(f"{name} has entries that are not finite")
        if not np.array_equal(start, after[name]):
            count += 1
        elif name not in (excused or {}):
            raise DidNotTrain(f"{name} has not moved")
    return count


def unchanged(before: Weights, after: Weights) -> None:
    """No weight tensor has changed.

    Raises:
        DidNotTrain: naming the first that has.
    """
    for name, start in before.items():
        if name not in after or not np.array_equal(start, after[name]):
            raise DidNotTrain(f"{name} was to stay as it is, and has changed")


def gradients(by_name: Weights, names: Iterable[str]) -> None:
    """Each of `names` has a gradient that is finite and not all zero.

    Weight decay alone moves a tensor: that it moved does not show that it learns.

    Raises:
        DidNotTrain: naming the first that has not.
    """
    for name in names:
        if name not in by_name:
            raise DidNotTrain(f"{name} gets no gradient")
        gradient = by_name[name]
        if not np.isfinite(gradient).all():
            raise DidNotTrain(f"the gradient of {name} has entries that are not finite")
        if not gradient.any():
            raise DidNotTrain(f"the gradient of {name} is zero")


def same_loss(first: float, last: float) -> None:
    """The loss of one and the same batch is what it was: nothing was trained.

    Raises:
        DidNotTrain: it is not, or is not finite.
    """
    if not math.isclose(first, last, rel_tol=1e-4):
        raise DidNotTrain(f"without training the loss went from {first:.4f} to {last:.4f}")


def loss_fell(first: float, last: float) -> None:
    """The loss of one and the same batch fell from `first` to `last`.

    Two batches would not do: text differs, and a table in it costs more than the prose before.

    Raises:
        DidNotTrain: it did not fall, or is not finite.
    """
    if not math.isfinite(last) or last >= first:
        raise DidNotTrain(f"the loss of the first batch went from {first:.4f} to {last:.4f}")
