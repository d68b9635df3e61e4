"""What the engine really executed, held against what was asked: its own evidence, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cputrain.engines import multiplied
from cputrain.engines.ipex_ import executed as ipex_
from cputrain.engines.jax_ import executed as jax_
from cputrain.engines.native_ import executed as native_
from cputrain.engines.torch_ import executed as torch_
from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check

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
