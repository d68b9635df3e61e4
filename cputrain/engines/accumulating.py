"""Engines whose step is a pass for each micro-batch, and one update."""

from __future__ import annotations

import abc
import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cputrain.engines.pass_clock import PassClock

if TYPE_CHECKING:
    from cputrain.data.batches import Batch


def weighed(batches: Sequence[Batch], parts: int = 1) -> list[tuple[Batch, float]]:
    """A step's micro-batches, each with its share of the step's loss and gradients.

    That is its counted targets over those of the step, so that the step's loss is the mean over
    all of its targets, however they are cut. It is 1 / len where all have as many, and where none
    counts. The node head's share is another one: the share x the batch's `node_weight`.

    Args:
        batches: of the whole step.
        parts: processes among which they are divided, and whose mean is taken.
    """
    if len(batches) == 1:
        return [(batches[0], float(parts))]
    counts = [batch.count() for batch in batches]
    tokens, nodes = (sum(column) for column in zip(*counts, strict=True))
    if not tokens:
        return [(batch, parts / len(batches)) for batch in batches]
    pairs = []
    for batch, (own, of_nodes) in zip(batches, counts, strict=True):
        if nodes and own:
            batch = replace(batch, node_weight=of_nodes * tokens / (nodes * own))
        pairs.append((batch, parts * own / tokens))
    return pairs


def mean(losses: Sequence[float], shares: Sequence[float]) -> float:
    """Of micro-batches by their shares. Where the share is 0 the loss is not a number."""
    if shares[0] and len(set(shares)) == 1:
        return sum(losses) * shares[0]
    return sum(loss * share for loss, share in zip(losses, shares, strict=True) if share)


class Accumulating(abc.ABC):
    """See `cputrain.engines.Engine`. JAX is none of them: its whole step is one program."""

    no_passes: str | None = None

    @functools.cached_property
    def pass_clock(self) -> PassClock:
        """Read by `accumulate` and `update` at the boundaries of passes."""
        return PassClock()

    @abc.abstractmethod
    def accumulate(self, batch: Batch, share: float) -> float:
        """Forward and backward; the gradients of several batches add up."""

    @abc.abstractmethod
    def update(self) -> None:
        """Let the optimizer take a step on the sum."""

    def train_step(self, *batches: Batch) -> float:
        """One optimizer step."""
        pairs = weighed(batches)
        losses = [self.accumulate(batch, share) for batch, share in pairs]
        self.update()
        return mean(losses, [share for _, share in pairs])
