"""An update of the compiled step, held against the optimizer's formula, number by number.

From a state of zeros the moments tell the gradient of the update. So the weights before and after
it tell the learning rate, the decay and epsilon, as far as rounding lets them show.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax

from cputrain.engines.jax_ import optimizers
from cputrain.engines.jax_.layers import Parameters
from cputrain.engines.jax_.optimizers import State
from cputrain.engines.jax_.schema import Followed
from cputrain.engines.rates import rate_at
from cputrain.experiment.parts import Training

MOST = 4096
"""Numbers of a tensor that are looked at, evenly spread over it."""
ROUNDINGS = 16
"""That a number of an update may be off by, each half a last place."""
FLOAT32 = float(np.finfo(np.float32).eps)
"""The last place of a float32 near 1."""
TINY = 1e-30
"""Squares of gradients that may be lost: float32 ends near 1e-38."""


def followed(training: Training, before: Parameters, after: Parameters, state: State) -> Followed:
    """How many numbers went where the formulas of AdamW or Lion put them.

    AdamW: m = (1 - beta1) g, v = (1 - beta2) g^2, and w - rate (g / (|g| + eps) + decay w)
    (Loshchilov & Hutter 2019, alg. 2). Lion: m = (1 - beta2) g, and w - rate (sign(g) + decay w)
    (Chen et al. 2023, alg. 2).

    Args:
        before, after: the weights of the update.
        state: the optimizer's after it, from zeros.
    """
    share, first = optimizers.first_moment_share(training), optimizers.first_moment(state)
    assert share is not None
    seconds = optax.tree.get(state, "nu") if training.optimizer == "adamw" else None
    rate = rate_at(training, 1)
    # optax has 1 - beta^1 in float32: of a beta near 1 the difference is rounded coarsely.
    coarse = FLOAT32 * (1 / (1 - training.beta1) + 1 / (1 - training.beta2))
    looked = moments = weights = 0
    for name, start in before.items():
        unit = float(jnp.finfo(start.dtype).eps)
        w, new, g = _some(start), _some(after[name]), _some(first[name]) / share
        if seconds is None:
            direction = np.sign(g)
        else:
            square = _some(seconds[name]) / (1 - training.beta2)
            direction = g / (np.sqrt(square) + training.eps)
            moments += int((np.abs(square - g * g) <= ROUNDINGS / 2 * unit * square + TINY).sum())
        expected = w - rate * (direction + training.weight_decay * w)
        room = rate * (ROUNDINGS * unit + coarse) + 2 * unit * np.abs(w)
        weights += int((np.abs(new - expected) <= room).sum())
        looked += w.size
    return Followed(looked=looked, moments=None if seconds is None else moments, weights=weights)


def _some(array: Any) -> np.ndarray:
    """Some of its numbers as float64, of one array those of the same places as of another."""
    flat = np.asarray(array).reshape(-1)
    return flat[:: -(-flat.size // MOST)].astype(np.float64)
