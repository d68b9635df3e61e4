"""The native engine's AdamW steered from step to step; see `cputrain.engines.long_run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from cputrain.engines.long_run import check_state

if TYPE_CHECKING:
    from cputrain.engines.native_.engine import NativeEngine

MOMENTS = ("first", "second")


class LongRun:
    """See `cputrain.engines.long_run.LongRun`. Moments are flat, gaps between tensors included."""

    def __init__(self, engine: NativeEngine, clip: float | None) -> None:
        self._engine = engine
        self._moments = {name: engine.flat(name) for name in MOMENTS}
        if clip is not None:
            engine.before_update = lambda: engine.library.clip(engine.model, clip)

    def set_rate(self, rate: float) -> None:
        """The learning rate from the next update on."""
        self._engine.rate_at = lambda _: rate

    def state(self) -> dict[str, ndarray]:
        """Both moments, and the updates so far."""
        moments = {name: array.copy() for name, array in self._moments.items()}
        return moments | {"steps": np.array(self._engine.steps_done, np.int64)}

    def load_state(self, state: Mapping[str, ndarray]) -> None:
        """Put a state in place of the present one."""
        check_state({name: array.shape for name, array in self.state().items()}, state)
        for name, array in self._moments.items():
            array[...] = state[name]
        self._engine.library.set_steps(self._engine.model, int(state["steps"]))
