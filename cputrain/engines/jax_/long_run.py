"""The JAX engine's optimizer steered from step to step; see `cputrain.engines.long_run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from cputrain.engines.jax_ import optimizers
from cputrain.engines.long_run import check_state

if TYPE_CHECKING:
    from cputrain.engines.jax_.engine import JaxEngine

DRAWN = "drawn"
"""Micro-batches so far: their numbers are what random numbers are drawn by."""


class LongRun:
    """See `cputrain.engines.long_run.LongRun`. The rate is part of the state that a step takes."""

    def __init__(self, engine: JaxEngine, clip: float | None) -> None:
        self._engine = engine
        engine.steer(clip)

    def set_rate(self, rate: float) -> None:
        """The learning rate from the next update on."""
        self._engine.state = optimizers.with_rate(self._engine.state, rate)

    def state(self) -> dict[str, np.ndarray]:
        """By the place in optax's tree; `DRAWN`."""
        leaves, _ = jax.tree_util.tree_flatten_with_path(self._engine.state)
        state = {jax.tree_util.keystr(path): _array(leaf) for path, leaf in leaves}
        return state | {DRAWN: np.array(self._engine.drawn, np.int64)}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Put a state in place of the present one."""
        check_state({name: array.shape for name, array in self.state().items()}, state)

        def given(path: Any, leaf: Any) -> Any:
            array = state[jax.tree_util.keystr(path)].astype(leaf.dtype)
            return jax.device_put(array, may_alias=False)

        self._engine.state = jax.tree_util.tree_map_with_path(given, self._engine.state)
        self._engine.drawn = int(state[DRAWN])


def _array(leaf: Any) -> np.ndarray:
    """A copy; float32 of any floating type, which holds all of bf16's numbers."""
    floating = jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating)
    return np.array(leaf, np.float32 if floating else leaf.dtype)
