"""What is to be tuned, as the command line says."""

from __future__ import annotations

from dataclasses import dataclass

from cputrain.engines import specs
from cputrain.experiment import Experiment


@dataclass(frozen=True)
class PlannedTuning:
    """What is to be tuned.

    Attributes:
        experiment: as it was described.
        budget_s: seconds for races and test.
        allowed: precisions that may be chosen.
        kept: fields that are not to be changed.
        seed: of the orders.
        again: the words of the command line that describe the model and its tuning.
    """

    experiment: Experiment
    budget_s: float
    allowed: tuple[str, ...]
    kept: tuple[str, ...]
    seed: int
    again: str

    @property
    def default(self) -> Experiment:
        """What is to be made faster, settled; in whole steps, as a preset's part of a step may be
        none of a candidate's: `reduced` says how much of one is run."""
        return specs.settle(self.experiment.but(micro_batches=None))
