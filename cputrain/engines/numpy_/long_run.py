"""The NumPy engine's AdamW steered from step to step; see `cputrain.engines.long_run`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from cputrain.engines.long_run import check_state

if TYPE_CHECKING:
    from cputrain.engines.numpy_.engine import NumpyEngine


class LongRun:
    """See `cputrain.engines.long_run.LongRun`."""

    def __init__(self, engine: NumpyEngine, clip: float | None) -> None:
        self._optimizer = engine.optimizer
        self._clip = clip
        if clip is not None:
            self._optimizer.before = self._scale

    def set_rate(self, rate: float) -> None:
        """The learning rate from the next update on."""
        self._optimizer.given_rate = rate

    def _scale(self, gradient: ndarray) -> None:
        assert self._clip is not None
        norm = math.sqrt(float(np.dot(gradient, gradient)))
        if norm > self._clip:
            gradient *= self._clip / norm

    def state(self) -> dict[str, ndarray]:
        """Both moments, and the updates so far."""
        first, second = self._optimizer.moments
        steps = np.array(self._optimizer.steps, np.int64)
        return {"first": first.copy(), "second": second.copy(), "steps": steps}

    def load_state(self, state: Mapping[str, ndarray]) -> None:
        """Put a state in place of the present one."""
        check_state({name: array.shape for name, array in self.state().items()}, state)
        first, second = self._optimizer.moments
        first[...], second[...] = state["first"], state["second"]
        self._optimizer.steps = int(state["steps"])
