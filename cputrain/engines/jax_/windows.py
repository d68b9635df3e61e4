"""Sequences cut into blocks of `window` tokens, and which keys a query may not see."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array


def fold(x: Array, window: int) -> Array:
    """[B, T, heads, d] -> [B T/window, window, heads, d]: each block is a sequence of its own."""
    return x.reshape(-1, window, *x.shape[2:])


def with_previous(x: Array, window: int) -> Array:
    """[B, T, heads, d] -> [B (T/window - 1), 2 window, heads, d]: blocks 1, 2, ... of each
    sequence, each behind the block before it."""
    blocks = x.reshape(x.shape[0], -1, window, *x.shape[2:])
    pairs = jnp.concatenate((blocks[:, :-1], blocks[:, 1:]), axis=2)
    return pairs.reshape(-1, 2 * window, *x.shape[2:])


def later(length: int) -> np.ndarray:
    """Keys that come after the query, bool [length, length]."""
    return np.triu(np.ones((length, length), bool), 1)


def outside(window: int) -> np.ndarray:
    """Of a block and the one before it: keys that the block's queries may not see.

    Query r stands at place window + r of the two blocks; it sees itself and the window - 1
    places before. Bool [window, 2 window].
    """
    query = np.arange(window, 2 * window)[:, None]
    back = query - np.arange(2 * window)
    return np.asarray((back < 0) | (back >= window))
