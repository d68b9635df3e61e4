"""Engines whose step is a pass for each micro-batch, and one update."""

from __future__ import annotations

import abc
import functools
from typing import TYPE_CHECKING

from cputrain.engines.pass_clock import PassClock

if TYPE_CHECKING:
    from cputrain.data.batches import Batch


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
        share = 1 / len(batches)
        loss = sum(self.accumulate(batch, share) for batch in batches) * share
        self.update()
        return loss
