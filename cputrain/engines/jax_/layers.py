"""Linear layers and norms."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from cputrain.engines.jax_.products import by_rows

EPS = 1e-5
"""Added to the variance (GPT-2's)."""

Parameters = dict[str, Array]


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """x [rows, in] @ weight [out, in].T + bias -> [rows, out], of the type of x."""
    y = by_rows(x, weight.astype(x.dtype))
    return y if bias is None else y + bias.astype(x.dtype)


def norm(x: Array, weight: Array, bias: Array) -> Array:
    """LayerNorm over the last axis (Ba et al. 2016), computed in float32, of the type of x."""
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(axis=-1, keepdims=True)
    variance = jnp.square(centred).mean(axis=-1, keepdims=True)
    normed = centred * lax.rsqrt(variance + EPS)
    return (normed * weight.astype(jnp.float32) + bias.astype(jnp.float32)).astype(x.dtype)
