"""The weighted sum of values that attention is, by hand, and its gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from cputrain.engines.jax_.products import by_rows, product, turned


@jax.custom_vjp  # type: ignore[untyped-decorator,unused-ignore]
def weighted(q: Array, k: Array, v: Array, seen: Array, kept: Array | None) -> Array:
    """softmax(q k^T) v over the keys that are seen; softmax in float32.

    The sum over keys that the gradient of a softmax needs, of its weights times their gradients,
    is that of y times its gradient (Dao et al. 2022, app. B.2): it is taken over channels.

    Args:
        q: [N, heads, Q, d], scaled.
        k, v: [N, heads, K, d].
        seen: bool [Q, K].
        kept: what dropout multiplies the weights with [N, heads, Q, K]; None drops nothing.
    """
    return _forward(q, k, v, seen, kept)[0]


def _forward(q: Array, k: Array, v: Array, seen: Array, kept: Array | None) -> tuple[Array, ...]:
    scores = jnp.where(seen, by_rows(q, k).astype(jnp.float32), -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1).astype(q.dtype)
    return product(_dropped(weights, kept), v), weights


def _dropped(weights: Array, kept: Array | None) -> Array:
    return weights if kept is None else weights * kept


def _forward_keeping(
    q: Array, k: Array, v: Array, seen: Array, kept: Array | None
) -> tuple[Array, tuple[Array | None, ...]]:
    y, weights = _forward(q, k, v, seen, kept)
    return y, (q, k, v, kept, weights, y)


def _backward(saved: tuple[Array, ...], dy: Array) -> tuple[Array | None, ...]:
    q, k, v, kept, weights, y = saved
    along = (dy.astype(jnp.float32) * y.astype(jnp.float32)).sum(axis=-1, keepdims=True)
    by_weights = _dropped(by_rows(dy, v), kept).astype(jnp.float32)
    by_scores = (weights.astype(jnp.float32) * (by_weights - along)).astype(q.dtype)
    by_value = product(turned(_dropped(weights, kept)), dy)
    return product(by_scores, k), product(turned(by_scores), q), by_value, None, None


weighted.defvjp(_forward_keeping, _backward)
