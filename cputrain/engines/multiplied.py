"""Which library really multiplied the matrices, held against runtime.matmul_backend.

Standard library only.
"""

from __future__ import annotations

from typing import Any

from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check, same
from cputrain.model.native import KEYS, blocks
from cputrain.model.products import runs
from cputrain.model.shapes import trained, weight_shapes

ALL = "matrix products by library"
NOT_LAYERS = ("spatial.weight", "conv.weight")
"""Matrices of blocks that no linear layer has: gmlp mixes positions with one, ssm neighbours."""


def checks(experiment: Experiment, evidence: dict[str, Any]) -> list[Check]:
    """The products of a step in the asked library, as `Engine.evidence` counted them.

    torch: all products of the blocks' linear layers are there; the head's and attention's stay
    in the library that torch was built with. numpy, native: all products of the step are there.
    """
    asked, engine = experiment.runtime.matmul_backend, experiment.runtime.engine
    in_step = evidence.get("products_by_library")
    if engine == "native":
        by = "own" if asked == "default" else asked
        return [same(ALL, {by: of_native(experiment)}, in_step)]
    if asked == "default":
        return []
    if engine == "numpy":
        return [same(ALL, {asked: of_numpy(experiment)}, in_step)]
    layers = {asked: sum(2 + is_trained for is_trained in linear_layers(experiment).values())}
    found = evidence.get("layer_products_by_library")
    least, there = of_layers(experiment), (in_step or {}).get(asked, 0)
    checks = [
        same("products of the linear layers by library", layers, found),
        Check(f"products of a step by {asked}", f">= {least}", there, there >= least),
    ]
    if asked == "mkl":
        checks.append(same("products of a step by onednn", 0, (in_step or {}).get("onednn", 0)))
    return checks


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


def of_numpy(experiment: Experiment) -> int:
    """All products of the numpy engine in one micro-batch.

    Four layers in each block and the head have one forward and two backward; each head of
    attention has two forward and four backward.
    """
    heads = 6 * experiment.training.batch_size * experiment.model.n_head
    return _of_layers_by_hand(experiment) + experiment.model.n_layer * heads


def of_native(experiment: Experiment) -> int:
    """All products of the native engine in one micro-batch.

    Layers as numpy's. Attention goes by blocks of queries, of which each head has two products
    forward (scores, their sums of values) and three backward (gradients of queries, keys and
    values), and a fourth one, of the weights, by blocks of those keys that its queries see.
    """
    model, training = experiment.model, experiment.training
    head = sum(5 + -(-end // KEYS) for _, end in blocks(training.seq_len))
    heads = training.batch_size * model.n_head
    return _of_layers_by_hand(experiment) + model.n_layer * heads * head


def _of_layers_by_hand(experiment: Experiment) -> int:
    return 3 * (4 * experiment.model.n_layer + 1)
