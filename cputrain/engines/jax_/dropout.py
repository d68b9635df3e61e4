"""Dropout of embeddings, residual branches and attention's weights."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array


def drop(x: Array, share: float, key: Array | None) -> Array:
    """x with `share` of it dropped and the rest scaled up; x itself without a key."""
    if key is None or not share:
        return x
    return x * factors(key, x.shape, share).astype(x.dtype)


def factors(key: Array, shape: tuple[int, ...], share: float) -> Array:
    """0 for `share` of the places, 1 / (1 - share) for the others, float32."""
    bits = jax.random.bits(key, shape, jnp.uint32)
    return jnp.where(bits >= jnp.uint32(round(share * 2**32)), 1 / (1 - share), 0.0)
