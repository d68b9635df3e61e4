"""Proof that a model really trained: next-token targets, every step done, every weight moved."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from cputrain.data.batches import IGNORE, Batch

Weights = Mapping[str, np.ndarray]


class DidNotTrain(RuntimeError):
    """The model did not train the way it should: one line says how."""


def next_token(batch: Batch) -> None:
    """Each target is the token after its input: targets[b, t] == inputs[b, t + 1].

    Raises:
        DidNotTrain: some target is another token, such as the input itself.
    """
    ahead, targets = batch.inputs[:, 1:], batch.targets[:, :-1]
    counts = targets != IGNORE
    wrong = int((ahead[counts] != targets[counts]).sum())
    if wrong or not (batch.targets != IGNORE).any():
        raise DidNotTrain(f"{wrong} of {int(counts.sum())} targets are not the next token")


def steps(asked: int, done: int) -> None:
    """The optimizer's own counter agrees with the steps that were asked for."""
    if asked != done:
        raise DidNotTrain(f"{asked} steps were asked for, the optimizer counted {done}")


def moved(before: Weights, after: Weights) -> int:
    """Every weight tensor is finite and has changed; how many there are.

    Raises:
        DidNotTrain: naming the first tensor that is missing, not finite or has not changed.
    """
    for name, start in before.items():
        if name not in after:
            raise DidNotTrain(f"{name} is gone")
        if not np.isfinite(after[name]).all():
            raise DidNotTrain(f"{name} has entries that are not finite")
        if np.array_equal(start, after[name]):
            raise DidNotTrain(f"{name} has not moved")
    return len(before)


def loss_fell(first: float, last: float) -> None:
    """The loss of one and the same batch fell from `first` to `last`.

    Two batches would not do: text differs, and a table in it costs more than the prose before.

    Raises:
        DidNotTrain: it did not fall, or is not finite.
    """
    if not math.isfinite(last) or last >= first:
        raise DidNotTrain(f"the loss of the first batch went from {first:.4f} to {last:.4f}")
