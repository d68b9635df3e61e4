"""What the engine really executed, held against what was asked: its own evidence, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cputrain import multiplied
from cputrain.executed import ipex_, jax_, native_, torch_
from cputrain.experiment import Experiment
from cputrain.inforce import Check

BY_ENGINE: dict[str, Callable[[Experiment, dict[str, Any]], list[Check]]] = {
    "torch": torch_.checks,
    "ipex": ipex_.checks,
    "jax": jax_.checks,
    "native": native_.checks,
}


def checks(experiment: Experiment, evidence: dict[str, Any]) -> list[Check]:
    """Everything that `Engine.evidence` can show of this experiment."""
    found = multiplied.checks(experiment, evidence)
    if (own := BY_ENGINE.get(experiment.runtime.engine)) is not None:
        found += own(experiment, evidence)
    return found
