"""Rank 0: the worker that the launcher talks to, for all the processes that train together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import structs

from cputrain.knobs import inforce
from cputrain.machine.memory import peak_or_reason
from cputrain.record.answers import Peak, SoFar
from cputrain.record.part import readings
from cputrain.record.proof import Check
from cputrain.record.sample import Exchange, Sample
from cputrain.worker.ranks import agreement, traffic
from cputrain.worker.ranks.member import Member
from cputrain.worker.ranks.messages import CheckSettings, CompareWeights, ComputeLoss, Leave

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines import Engine, Weights
    from cputrain.engines.torch_.parallel import ParallelEngine
    from cputrain.worker.ranks.group import Group


class Leader(Member):
    """Rank 0: the one that the launcher talks to. Its counts and times are those of all."""

    def join(self) -> None:
        """Meet the others, and tell them what the launcher asks."""
        self.meet()

    def make_engine(self, weights: Weights) -> Engine:
        """The engine, whose `loss` is that of whole batches."""
        super().make_engine(weights)
        return _Whole(self.parallel, self.group)

    def in_force(self) -> list[Check]:
        """Every rank's; those of the others by their number."""
        self.group.tell(CheckSettings())
        self.checked = agreement.of_all(self.group, super().in_force())
        return self.checked

    def take(self, steps: int, discard: int, tries: int) -> Sample:
        """The sample, held against what every rank says of it."""
        sample = super().take(steps, discard, tries)
        payload = self.parallel.payload_bytes()
        sent = [rank.sent_bytes for rank in sample.ranks]
        ring = traffic.ring_bytes(payload, self.group.size)
        exchange = Exchange(
            payload_bytes=payload,
            ring_bytes=ring,
            sent_bytes_per_step=[None if n is None else n / steps for n in sent],
        )
        checks = [rank_sample.busy.of_rank(rank) for rank, rank_sample in enumerate(sample.ranks)]
        known = [n for n in sent if n is not None]
        if len(known) == len(sent):
            actual, least = sum(known) / steps, traffic.LEAST * ring * self.group.size
            name = "bytes that all processes sent in a step"
            checks.append(Check(name, f">= {least:.0f}", round(actual), actual >= least))
        inforce.require(checks)
        return structs.replace(sample, exchange=exchange)

    def peak_memory(self) -> Peak:
        """The sum over all ranks, each one's, and torchrun's own, which is not in the sum."""
        ranks = [rank.peak_rss_bytes for rank in self.stepper.ranks]
        known = [n for n in ranks if n is not None]
        peaks: dict[str, Any] = {"peak_rss_bytes": None, "peak_rss_bytes_by_rank": ranks}
        if len(known) == len(ranks):
            peaks["peak_rss_bytes"] = sum(known)
        else:
            reasons = (rank.reasons.get("peak_rss_bytes") for rank in self.stepper.ranks)
            peaks["peak_rss_bytes_reason"] = next(reason for reason in reasons if reason)
        whole = peaks | peak_or_reason("torchrun_peak_rss_bytes", process=os.getppid())
        return readings(Peak, whole)

    def so_far(self) -> SoFar:
        """The optimizer's state is on every rank."""
        own = super().so_far()
        state_bytes = own.optimizer_state_bytes * self.group.size
        return structs.replace(own, optimizer_state_bytes=state_bytes)

    def checked_again(self) -> list[Check] | None:
        """All ranks still hold the same weights, after all training."""
        self.group.tell(CompareWeights())
        equal = agreement.same_weights(self.group, self.engine)
        inforce.require(equal)
        before = [check for check in self.checked if check.name != equal[0].name]
        return [*before, *equal]

    def finish(self) -> None:
        """Prove, save, answer; then the others may end."""
        super().finish()
        self.group.tell(Leave())


class _Whole:
    """Rank 0's engine to whoever asks for the loss of a whole batch: the mean over all ranks."""

    def __init__(self, own: ParallelEngine, group: Group) -> None:
        self._own, self._group = own, group

    def loss(self, batch: Batch) -> float:
        """The mean of the losses of all ranks' rows, weighted by their targets."""
        self._group.tell(ComputeLoss(batch=batch))
        return self._group.mean(self._own.loss(batch))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)
