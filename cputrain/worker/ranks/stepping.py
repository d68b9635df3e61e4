"""Steps that all ranks take together, and what each says of them afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cputrain.experiment import Experiment
from cputrain.machine.memory import peak_or_reason
from cputrain.machine.reading import Unknown
from cputrain.record.noise import Noise
from cputrain.record.part import readings
from cputrain.record.process import Placement
from cputrain.record.sample import RankSample
from cputrain.worker.ranks import traffic
from cputrain.worker.ranks.group import Group
from cputrain.worker.ranks.messages import Train
from cputrain.worker.stepper import Stepper
from cputrain.worker.watch import Watch

if TYPE_CHECKING:
    from cputrain.data.feed import Feed
    from cputrain.engines import Engine


class RankStepper(Stepper):
    """Trains one rank on its feed, which gives every rank the same batches.

    Rank 0 says how many steps; then all start at once, and only gradients travel until the last
    one is done. Rank 0's losses are the means over all ranks, which is the loss of the batch.

    Attributes:
        ranks: on rank 0, what each rank says of the last steps.
    """

    def __init__(
        self,
        experiment: Experiment,
        engine: Engine,
        feed: Feed,
        group: Group,
        placement: Placement,
    ) -> None:
        super().__init__(experiment, engine, feed)
        self._experiment, self._group, self._placement = experiment, group, placement

    def train(self, steps: int) -> list[float]:
        """See `Stepper.train`; the other ranks have to train as many."""
        if self._group.rank == 0:
            self._group.tell(Train(steps=steps))
        self._group.wait_for_all()
        watch, before = Watch(self._experiment, self._placement, self._feed), _sent()
        step_s = super().train(steps)
        after, (seen, busy) = _sent(), watch.seen()
        sample = readings(
            RankSample,
            {
                "losses": self.losses[-steps:],
                **_difference(before, after),
                **peak_or_reason("peak_rss_bytes"),
                "noise": readings(Noise, seen),
                "busy": busy,
            },
        )
        self.ranks = self._group.gather(sample)
        if self.ranks:
            by_step = zip(*(rank.losses for rank in self.ranks), strict=True)
            self.losses[-steps:] = [sum(losses) / self._group.size for losses in by_step]
        return step_s


def _sent() -> int | str:
    try:
        return traffic.sent()
    except Unknown as unknown:
        return str(unknown)


def _difference(before: int | str, after: int | str) -> dict[str, Any]:
    if isinstance(before, str) or isinstance(after, str):
        reason = before if isinstance(before, str) else after
        return {"sent_bytes": None, "sent_bytes_reason": reason}
    return {"sent_bytes": after - before}
