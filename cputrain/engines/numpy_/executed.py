"""What the NumPy engine really executed, held against what was asked."""

from __future__ import annotations

from cputrain.engines.multiplied import of_all, of_layers_by_hand
from cputrain.engines.numpy_.schema import NumpyEvidence
from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check


def checks(experiment: Experiment, evidence: NumpyEvidence) -> list[Check]:
    """Its products by library, where one was chosen: NumPy's own are not counted."""
    backend = experiment.runtime.matmul_backend
    if backend == "default":
        return []
    return [of_all(backend, products(experiment), evidence.products_by_library)]


def products(experiment: Experiment) -> int:
    """All products of the numpy engine in one micro-batch.

    Each head of attention has two forward and four backward.
    """
    heads = 6 * experiment.training.batch_size * experiment.model.n_head
    return of_layers_by_hand(experiment) + experiment.model.n_layer * heads
