"""Initial values of the weights, alike for every engine.

A linear layer computes x @ weight.T + bias, so its weight is [out, in].
"""

from __future__ import annotations

import math

import numpy as np

from cputrain.experiment import Experiment
from cputrain.model.initial_blocks import STARTS
from cputrain.model.shapes import weight_shapes

Weights = dict[str, np.ndarray]
"""Arrays by weight name, in the order of `weight_shapes`."""

STD = 0.02


def initial_weights(experiment: Experiment) -> Weights:
    """Initial weights, float32, drawn from training.seed alone.

    As GPT-2 (Radford et al. 2019, sec. 2.3): normal with deviation 0.02, projections into
    the residual stream 0.02 / sqrt(2 n_layer); biases are 0 and norms 1. A low-rank
    addition starts at 0 (Hu et al. 2022, sec. 4.1): its b is 0. What other architectures
    have beside such layers starts as `initial_blocks` says.
    """
    generator = np.random.default_rng(experiment.training.seed)
    residual = STD / math.sqrt(2 * experiment.model.n_layer)
    weights: Weights = {}
    for name, shape in weight_shapes(experiment).items():
        start = STARTS.get(name.split(".", 2)[-1]) if name.startswith("h.") else None
        if start is not None:
            weights[name] = start(generator, shape).astype(np.float32)
        elif name.endswith((".bias", ".lora_b")):
            weights[name] = np.zeros(shape, np.float32)
        elif "ln_" in name:
            weights[name] = np.ones(shape, np.float32)
        else:
            drawn = generator.standard_normal(shape, np.float32)
            drawn *= residual if name.endswith("proj.weight") else STD
            weights[name] = drawn
    return weights
