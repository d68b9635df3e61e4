"""Arrays of JAX's from NumPy's and back, as copies of their own."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import Array

from cputrain.engines.jax_.layers import Parameters


def placed(array: np.ndarray) -> Array:
    """A copy of JAX's own, whose memory it may write over."""
    return jax.device_put(array, may_alias=False)


def zeros(like: Any) -> Array:
    """As many and of that type."""
    return placed(np.zeros(like.shape, like.dtype))


def copies(arrays: Parameters) -> dict[str, np.ndarray]:
    """Float32 copies. Views would keep JAX from writing over what they look at."""
    return {name: np.array(x, np.float32) for name, x in arrays.items()}
