"""An experiment's sizes for its record."""

from __future__ import annotations

import dataclasses
from typing import Any

from cputrain.experiment import Experiment
from cputrain.model import flops, memory_estimate, shapes


def counts(experiment: Experiment) -> dict[str, Any]:
    """Parameters, tokens, FLOPs and bytes of a step: see `flops_per_step` and `memory_bytes`."""
    work, need = flops.flops_per_step(experiment), memory_estimate.memory_bytes(experiment)
    return {
        "n_params": shapes.n_params(experiment),
        "n_trained": shapes.n_trained(experiment),
        "tokens_per_step": experiment.training.tokens_per_step,
        "flops_per_step": work.total,
        "flops_formula": work.formula,
        "flops_by_type": work.by_type,
        "memory_estimate_bytes": need.total,
        "memory": dataclasses.asdict(need),
    }
