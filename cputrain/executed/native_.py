"""What the native engine really executed, held against what was asked."""

from __future__ import annotations

from typing import Any

from cputrain.experiment import Experiment
from cputrain.inforce import Check


def checks(experiment: Experiment, evidence: dict[str, Any]) -> list[Check]:
    """Everything that its `Engine.evidence` can show of this experiment, but products."""
    return []
