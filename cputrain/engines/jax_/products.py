"""Matrix products whose gradients have their factors where XLA's CPU kernels want them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax


@jax.custom_vjp
def by_rows(a: Array, b: Array) -> Array:
    """a [..., m, k] times b [..., n, k] transposed -> [..., m, n], of their type."""
    return _by_rows(a, b)


@jax.custom_vjp
def product(a: Array, b: Array) -> Array:
    """a [..., m, k] times b [..., k, n] -> [..., m, n], of their type."""
    return _product(a, b)


def _by_rows(a: Array, b: Array) -> Array:
    return _multiplied(a, b, b.ndim - 1)


def _product(a: Array, b: Array) -> Array:
    return _multiplied(a, b, b.ndim - 2)


def _multiplied(a: Array, b: Array, inner: int) -> Array:
    """The last axis of a with the axis `inner` of b.

    Sums are float32 in every precision: asked for bf16 ones, XLA makes float32 of the factors.
    """
    batch = tuple(range(a.ndim - 2))
    axes = (((a.ndim - 1,), (inner,)), (batch, batch))
    return lax.dot_general(a, b, axes, preferred_element_type=jnp.float32).astype(a.dtype)


def _turned(a: Array) -> Array:
    """The last two axes exchanged in memory.

    The barrier keeps the copy from being written by the loop that computes `a`, which would go
    over its other inputs against the grain.
    """
    return lax.optimization_barrier(jnp.swapaxes(lax.optimization_barrier(a), -1, -2))


def _by_rows_backward(kept: tuple[Array, Array], dy: Array) -> tuple[Array, Array]:
    a, b = kept
    return _product(dy, b), _product(_turned(dy), a)


def _product_backward(kept: tuple[Array, Array], dy: Array) -> tuple[Array, Array]:
    a, b = kept
    return _by_rows(dy, b), _product(_turned(a), dy)


by_rows.defvjp(lambda a, b: (_by_rows(a, b), (a, b)), _by_rows_backward)
product.defvjp(lambda a, b: (_product(a, b), (a, b)), _product_backward)
