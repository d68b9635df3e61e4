"""One of several processes that train one model: its rows of every batch, gradients averaged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from cputrain.engines import Looked
from cputrain.engines.accumulating import mean, weighed
from cputrain.engines.torch_.engine import TorchEngine
from cputrain.engines.torch_.evidence import keep_random
from cputrain.engines.torch_.schema import TorchEvidence
from cputrain.experiment import Experiment
from cputrain.model import shares

if TYPE_CHECKING:
    import numpy as np

    from cputrain.data.batches import Batch
    from cputrain.engines import Weights
    from cputrain.engines.accuracy import Hits

SMALLEST = 1e-3
"""Share of the largest gradient below which a tensor's own is not its measure: that of k's bias
is 0 but for rounding."""


class ParallelEngine(TorchEngine):
    """See `cputrain.engines.Engine`. Batches are those of all ranks; losses are of its own rows.

    Losses, and gradients with them, are weighted by how many targets the rows have: their mean
    over all ranks is that of all targets, also where the last sequence of an epoch is shorter.
    Of a step's micro-batches each rank trains its rows, and where these are too few for all ranks,
    its own micro-batches (`model.shares`).

    While the backward pass of a step's last micro-batch runs, DDP averages the gradients, in
    buckets of its default size. Every rank has to take the step. Looking (`loss`, `gradients`,
    `evidence`) concerns this process alone. Dropout draws other masks on every rank.

    Needs torch's default process group.

    Attributes:
        first_own: the first of a step's micro-batches that this rank trains on, from 0.
    """

    def __init__(self, experiment: Experiment, weights: Weights) -> None:
        self._rank, self._size = dist.get_rank(), dist.get_world_size()
        self._row_parts, self._parts = shares.parts(experiment, self._size)
        self._each = experiment.training.grad_accum // self._parts
        self.first_own = self._rank // self._row_parts * self._each
        super().__init__(shares.of_rank(experiment, self._size), weights)
        torch.manual_seed(experiment.training.seed + self._rank)
        # The buffers are masks and tables that never change.
        self._ddp: Any = DistributedDataParallel(self._model, forward_sync_buffers=False)
        self._passes.stepped = self._ddp

    def train_step(self, *batches: Batch) -> float:
        """One optimizer step on this rank's rows; the mean loss of these."""
        pairs = weighed(batches, self._parts)[self.first_own : self.first_own + self._each]
        with self._ddp.no_sync():  # the sums of all micro-batches travel once
            losses = [self.accumulate(batch, share) for batch, share in pairs[:-1]]
        losses.append(self.accumulate(*pairs[-1]))
        self.update()
        return mean(losses, [share for _, share in pairs])

    def accumulate(self, batch: Batch, share: float) -> float:
        """Forward and backward; the gradients add up, and are averaged."""
        rows, weight = self._weighed_rows(batch)
        return mean([super().accumulate(rows, weight * share)], [weight])

    def score(self, batch: Batch) -> tuple[float, Hits]:
        """Of this rank's rows."""
        return super().score(self._rank_rows(batch))

    def loss(self, batch: Batch) -> float:
        """The loss of this rank's rows, weighted, without dropout."""
        rows, weight = self._weighed_rows(batch)
        return mean([super().loss(rows)], [weight])

    def gradients(self, batch: Batch) -> dict[str, np.ndarray]:
        """Gradients by this rank's rows alone."""
        return super().gradients(self._rank_rows(batch))

    def looked(self, batch: Batch) -> Looked[TorchEvidence]:
        """What this rank's part of a step executed, without the exchange."""
        with self._ddp.no_sync():
            return super().looked(self._rank_rows(batch))

    def payload_bytes(self) -> int:
        """Bytes of the gradients that each step averages."""
        return sum(p.numel() * p.element_size() for p in self.trained.values())

    def averaging(self, batch: Batch) -> tuple[float, float]:
        """How far a step's gradients are from the mean of the ranks' own, and these from it.

        Both as shares of the largest entry that any rank's own tensor has, as these are what is
        rounded; all ranks have to ask at once. The first is rounding where the gradients are
        averaged; the second is 0 where all ranks have the same rows. Nothing changes.

        Args:
            batch: one of this rank's micro-batches.
        """
        rows = self._rank_rows(batch)
        with self._unchanged():
            with self._ddp.no_sync(), keep_random():  # the same numbers for both
                self._passes.step(rows)
            own = self._taken()
            self._passes.step(rows)
            averaged = self._taken()
        names = list(own)
        largest = torch.stack([own[name].abs().max().double() for name in names])
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        largest.clamp_(min=SMALLEST * float(largest.max()))
        away = torch.zeros(2, dtype=torch.float64)
        for name, most in zip(names, largest, strict=True):
            mean = own[name].double()
            dist.all_reduce(mean)
            mean /= self._size
            pair = ((taken[name] - mean).abs().max() / most for taken in (averaged, own))
            away = torch.maximum(away, torch.stack([*pair]))
        return float(away[0]), float(away[1])

    def _taken(self) -> dict[str, Tensor]:
        """The gradients added up so far, which the parameters give up."""
        gradients = {n: p.grad for n, p in self.trained.items() if p.grad is not None}
        self._forget_gradients()
        return gradients

    def _weighed_rows(self, batch: Batch) -> tuple[Batch, float]:
        """This rank's, and their targets over the mean of all ranks; 1.0 where all have as many."""
        rows = self._rank_rows(batch)
        (own, nodes), (whole, all_nodes) = rows.count(), batch.count()
        if own and all_nodes:
            share = nodes * whole / (all_nodes * own)
            rows = replace(rows, node_weight=batch.node_weight * share)
        return rows, self._row_parts * own / max(whole, 1)

    def _rank_rows(self, batch: Batch) -> Batch:
        return batch.of_rank(self._rank % self._row_parts, self._row_parts)
