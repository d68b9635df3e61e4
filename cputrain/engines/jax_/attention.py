"""Self-attention: full, local or sliding; jax.nn.dot_product_attention or by hand."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from cputrain.engines.jax_ import windows
from cputrain.engines.jax_.dropout import factors
from cputrain.engines.jax_.weighted import weighted
from cputrain.experiment import Experiment


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
            folded = [windows.fold(part, window) for part in (q, k, v)]
            return self._mix(folded[0], folded[1], folded[2], key).reshape(q.shape)
        keys = (None, None) if key is None else tuple(jax.random.split(key))
        first = self._mix(q[:, :window], k[:, :window], v[:, :window], keys[0])
        k, v = windows.with_previous(k, window), windows.with_previous(v, window)
        hidden = windows.outside(window)
        others = self._mix(windows.fold(q[:, window:], window), k, v, keys[1], hidden)
        return jnp.concatenate((first, others.reshape(len(q), -1, *q.shape[2:])), axis=1)

    def _mix(
        self, q: Array, k: Array, v: Array, key: Array | None, hidden: np.ndarray | None = None
    ) -> Array:
        if not self._fused:
            rule = windows.later(q.shape[1]) if hidden is None else hidden
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
