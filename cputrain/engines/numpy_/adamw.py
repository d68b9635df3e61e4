"""AdamW by hand in NumPy (Loshchilov & Hutter 2019, alg. 2)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy import ndarray

from cputrain.engines.rates import rate_at
from cputrain.experiment.parts import Training

BLOCK = 32768
"""Elements per block: five blocks of float32 fit a second-level cache."""


class AdamW:
    """Updates one flat array of parameters in place.

    The moments are kept without their factors 1 - beta, which go into the step size: two
    passes over memory less. The result is the same but for rounding.

    Attributes:
        steps: updates so far.
        given_rate: a learning rate in place of the experiment's.
        before: takes each gradient before it is used.
    """

    def __init__(self, parameters: ndarray, training: Training) -> None:
        self._parameters = parameters
        self._first = np.zeros_like(parameters)
        self._second = np.zeros_like(parameters)
        self._scratch = np.empty(min(BLOCK, parameters.size), parameters.dtype)
        self._training = training
        self.steps = 0
        self.given_rate: float | None = None
        self.before: Callable[[ndarray], None] | None = None

    @property
    def state_bytes(self) -> int:
        """Bytes of both moments."""
        return self._first.nbytes + self._second.nbytes

    @property
    def rate(self) -> float:
        """The learning rate of the last step; it grows linearly over the warm-up steps."""
        return rate_at(self._training, self.steps) if self.given_rate is None else self.given_rate

    @property
    def moments(self) -> tuple[ndarray, ndarray]:
        """The first and the second, as they are kept."""
        return self._first, self._second

    def step(self, gradient: ndarray) -> None:
        """One update; overwrites nothing but the parameters and moments, unless `before` does."""
        t = self._training
        if self.before is not None:
            self.before(gradient)
        self.steps += 1
        # As m / (1 - beta1^n) / (sqrt(v / (1 - beta2^n)) + eps), with the factors gathered.
        root = math.sqrt((1 - t.beta2**self.steps) / (1 - t.beta2))
        rate = self.rate
        size = rate * (1 - t.beta1) / (1 - t.beta1**self.steps) * root
        eps = t.eps * root
        keep = 1 - rate * t.weight_decay
        for start in range(0, gradient.size, BLOCK):
            at = slice(start, start + BLOCK)
            p, g, m, v = self._parameters[at], gradient[at], self._first[at], self._second[at]
            scratch = self._scratch[: g.size]
            m *= t.beta1
            m += g
            v *= t.beta2
            np.square(g, out=scratch)
            v += scratch
            np.sqrt(v, out=scratch)
            scratch += eps
            np.divide(m, scratch, out=scratch)
            scratch *= size
            p *= keep
            p -= scratch
