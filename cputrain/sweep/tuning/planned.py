"""What is to be tuned, as the command line says."""

from __future__ import annotations

from dataclasses import dataclass

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
        again: the words of the command line that describe the model.
    """

    experiment: Experiment
    budget_s: float
    allowed: tuple[str, ...]
    kept: tuple[str, ...]
    seed: int
    again: str
