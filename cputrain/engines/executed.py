"""What the engine really executed, held against what was asked: its own evidence, checked."""

from __future__ import annotations

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check
from cputrain.record.evidence import Evidence


def checks(experiment: Experiment, evidence: Evidence) -> list[Check]:
    """Everything that `Engine.evidence` can show of this experiment."""
    return specs.of(experiment.runtime.engine).checks(experiment, evidence)
