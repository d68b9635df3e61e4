"""What the engine really executed, held against what was asked: its own evidence, checked."""

from __future__ import annotations

from typing import Any

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check


def checks(experiment: Experiment, evidence: dict[str, Any]) -> list[Check]:
    """Everything that `Engine.evidence` can show of this experiment."""
    return specs.of(experiment.runtime.engine).checks(experiment, evidence)
