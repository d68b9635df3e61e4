"""Which library really multiplied the matrices, held against runtime.matmul_backend.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping

from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check, same
from cputrain.model.products import runs
from cputrain.model.shapes import trained, weight_shapes

Counted = Mapping[str, int] | None
"""Matrix products by library; None where they were not counted."""
ALL = "matrix products by library"
NOT_LAYERS = ("spatial.weight", "conv.weight")
"""Matrices of blocks that no linear layer has: gmlp mixes positions with one, ssm neighbours."""


def of_torch(experiment: Experiment, of_step: Counted, of_single_layers: Counted) -> list[Check]:
    """All products of the blocks' linear layers are by the asked library, as they were counted.

    The head's and attention's stay in the library that torch was built with.

    Args:
        experiment: what was asked for.
        of_step: products of a step by library.
        of_single_layers: products of each linear layer run by itself, by library.
    """
    backend, in_step = experiment.runtime.matmul_backend, of_step or {}
    if backend == "default":
        return []
    layers = {backend: sum(2 + is_trained for is_trained in linear_layers(experiment).values())}
    least, there = of_layers(experiment), in_step.get(backend, 0)
    checks = [
        same("products of the linear layers by library", layers, of_single_layers),
        Check(f"products of a step by {backend}", f">= {least}", there, there >= least),
    ]
    if backend == "mkl":
        checks.append(same("products of a step by onednn", 0, in_step.get("onednn", 0)))
    return checks


def of_all(library: str, products: int, counted: Counted) -> Check:
    """All products of a step are by `library`, and so many are there; `counted` by library."""
    return same(ALL, {library: products}, counted)


def linear_layers(experiment: Experiment) -> dict[str, bool]:
    """The weights of the blocks' linear layers, and whether each is trained."""
    free = set(trained(experiment))
    return {
        name: name in free
        for name, shape in weight_shapes(experiment).items()
        if name.startswith("h.")
        and name.endswith(".weight")
        and not name.endswith(NOT_LAYERS)
        and len(shape) == 2
    }


def of_layers(experiment: Experiment) -> int:
    """Products of the linear layers in one micro-batch; an expert may have no token at all."""
    names = (name for name in linear_layers(experiment) if ".experts." not in name)
    return sum(sum(runs(experiment, name)) for name in names)


def of_layers_by_hand(experiment: Experiment) -> int:
    """Products of the linear layers where every product is the engine's own: 4 a block, the head.

    Each has one forward and two backward.
    """
    return 3 * (4 * experiment.model.n_layer + 1)
