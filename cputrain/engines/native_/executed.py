"""What the native engine really executed, held against what was asked."""

from __future__ import annotations

from typing import Any

from cputrain.engines.multiplied import of_native
from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check, same


def checks(experiment: Experiment, evidence: dict[str, Any]) -> list[Check]:
    """Calls of the library that multiplies; `multiplied` has the products.

    Each product is one call at least, and more where the threads share it out; there is none
    where the engine's own code multiplies.
    """
    name, found = "calls of another library", evidence.get("library_calls")
    if experiment.runtime.matmul_backend == "default":
        return [same(name, 0, found)]
    least = of_native(experiment)
    return [Check(name, f">= {least}", found, isinstance(found, int) and found >= least)]
