"""Self-attention: full, local or sliding; jax.nn.dot_product_attention or by hand."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from cputrain.engines.jax_.layers import factors
from cputrain.engines.jax_.products import by_rows, product, turned
from cputrain.experiment import Experiment

BY_HAND = "by_hand"
"""In the paths of the operations of `manual`, in XLA's text of the program."""


class Attention:
    """Causal attention of q, k and v (Vaswani et al. 2017, sec. 3.2); see torch_.attention.

    local: tokens see the tokens up to themselves in their block of `window`. sliding: each
    token sees itself and the window - 1 before it; queries of block i meet keys of blocks
    i - 1 and i (Beltagy et al. 2020, sec. 3.1), the first block those of its own alone.
    """

    def __init__(self, experiment: Experiment) -> None:
        model, length = experiment.model, experiment.training.seq_len
        self._dropout = model.dropout
        self._fused = experiment.runtime.attention_backend == "sdpa"
        self._is_local = model.attention == "local"
        # A window of the whole sequence is full attention: then there is nothing to cut.
        self._window = None if model.window == length else model.window

    def __call__(self, q: Array, k: Array, v: Array, key: Array | None) -> Array:
        """[B, T, n_head, d], twice [B, T, kv_heads, d] -> [B, T, n_head, d].

        Args:
            q, k, v: of one type.
            key: of dropout's random numbers; None drops nothing.
        """
        window = self._window
        if window is None:
            return self._mix(q, k, v, key)
        if self._is_local:
            folded = [fold(part, window) for part in (q, k, v)]
            return self._mix(folded[0], folded[1], folded[2], key).reshape(q.shape)
        keys = (None, None) if key is None else tuple(jax.random.split(key))
        first = self._mix(q[:, :window], k[:, :window], v[:, :window], keys[0])
        k, v = with_previous(k, window), with_previous(v, window)
        hidden = outside_keys(window)
        others = self._mix(fold(q[:, window:], window), k, v, keys[1], hidden)
        return jnp.concatenate((first, others.reshape(len(q), -1, *q.shape[2:])), axis=1)

    def _mix(
        self, q: Array, k: Array, v: Array, key: Array | None, hidden: np.ndarray | None = None
    ) -> Array:
        if not self._fused:
            rule = later_keys(q.shape[1]) if hidden is None else hidden
            with jax.named_scope(BY_HAND):
                return manual(q, k, v, rule, self._dropout, key)
        if hidden is None:
            return jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return jax.nn.dot_product_attention(q, k, v, mask=jnp.asarray(~hidden)[None, None])


def manual(
    q: Array, k: Array, v: Array, hidden: np.ndarray, dropout: float, key: Array | None
) -> Array:
    """Scores, mask, softmax, dropout, weighted sum, one by one.

    q [N, Q, n_head, d], k and v [N, K, kv_heads, d] -> [N, Q, n_head, d]. The query heads that
    share keys are rows of one matrix, so no keys are repeated. `hidden` [Q, K] is true where a
    query may not see a key.
    """
    n, length, heads, d_head = q.shape
    shared = k.shape[2]
    group = heads // shared
    rows = q.reshape(n, length, shared, group, d_head).transpose(0, 2, 3, 1, 4)
    rows = (rows * (1 / math.sqrt(d_head))).reshape(n, shared, group * length, d_head)
    keys, values = k.transpose(0, 2, 1, 3), v.transpose(0, 2, 1, 3)
    seen = jnp.tile(~hidden, (group, 1))
    kept = None
    if key is not None and dropout:
        kept = factors(key, (n, shared, *seen.shape), dropout).astype(q.dtype)
    y = weighted(rows, keys, values, seen, kept)
    return y.reshape(n, heads, length, d_head).transpose(0, 2, 1, 3)


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
    return _sum_and_weights(q, k, v, seen, kept)[0]


def _sum_and_weights(
    q: Array, k: Array, v: Array, seen: Array, kept: Array | None
) -> tuple[Array, ...]:
    scores = jnp.where(seen, by_rows(q, k).astype(jnp.float32), -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1).astype(q.dtype)
    return product(_dropped(weights, kept), v), weights


def _dropped(weights: Array, kept: Array | None) -> Array:
    return weights if kept is None else weights * kept


def _weighted_forward(
    q: Array, k: Array, v: Array, seen: Array, kept: Array | None
) -> tuple[Array, tuple[Array | None, ...]]:
    y, weights = _sum_and_weights(q, k, v, seen, kept)
    return y, (q, k, v, kept, weights, y)


def _weighted_backward(saved: tuple[Array, ...], dy: Array) -> tuple[Array | None, ...]:
    q, k, v, kept, weights, y = saved
    along = (dy.astype(jnp.float32) * y.astype(jnp.float32)).sum(axis=-1, keepdims=True)
    by_weights = _dropped(by_rows(dy, v), kept).astype(jnp.float32)
    by_scores = (weights.astype(jnp.float32) * (by_weights - along)).astype(q.dtype)
    by_value = product(turned(_dropped(weights, kept)), dy)
    return product(by_scores, k), product(turned(by_scores), q), by_value, None, None


weighted.defvjp(_weighted_forward, _weighted_backward)


def fold(x: Array, window: int) -> Array:
    """[B, T, heads, d] -> [B T/window, window, heads, d]: each block is a sequence of its own."""
    return x.reshape(-1, window, *x.shape[2:])


def with_previous(x: Array, window: int) -> Array:
    """[B, T, heads, d] -> [B (T/window - 1), 2 window, heads, d]: blocks 1, 2, ... of each
    sequence, each behind the block before it."""
    blocks = x.reshape(x.shape[0], -1, window, *x.shape[2:])
    pairs = jnp.concatenate((blocks[:, :-1], blocks[:, 1:]), axis=2)
    return pairs.reshape(-1, 2 * window, *x.shape[2:])


def later_keys(length: int) -> np.ndarray:
    """Keys that come after the query, bool [length, length]."""
    return np.triu(np.ones((length, length), bool), 1)


def outside_keys(window: int) -> np.ndarray:
    """Of a block and the one before it: keys that the block's queries may not see.

    Query r stands at place window + r of the two blocks; it sees itself and the window - 1
    places before. Bool [window, 2 window].
    """
    query = np.arange(window, 2 * window)[:, None]
    back = query - np.arange(2 * window)
    return np.asarray((back < 0) | (back >= window))
