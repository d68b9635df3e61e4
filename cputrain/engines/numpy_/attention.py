"""Causal self-attention by hand in NumPy: forward and backward pass between the two layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from cputrain.engines.numpy_ import ops
from cputrain.experiment import Experiment

if TYPE_CHECKING:
    from cputrain.engines.numpy_.products import Multiply


def outside(attention: str, window: int, length: int) -> ndarray:
    """Which keys [query, key] a window hides, those after the query left aside.

    Args:
        attention: local (other blocks of `window` tokens) or sliding (those more than
            `window` - 1 before).
        window: tokens.
        length: tokens in a sequence.
    """
    at = np.arange(length)
    query, key = at[:, None], at[None, :]
    if attention == "local":
        return np.asarray(query // window != key // window)
    return np.asarray(query - key >= window)


class Attention:
    """Attention of all heads of one layer's q, k and v; the caller keeps the arrays.

    Windows are a mask over full attention here: the same work and twice as easy to believe.
    This is what the other engines, which do less work, are held to. With fewer heads of keys
    and values than of queries, neighbouring query heads share one (Ainslie et al. 2023).

    Args:
        experiment: the sizes.
        dtype: of all arrays.
        multiply: np.matmul, or what stands in for it.
    """

    def __init__(
        self, experiment: Experiment, dtype: np.dtype, multiply: Multiply = np.matmul
    ) -> None:
        self._multiply = multiply
        model, training = experiment.model, experiment.training
        self._batch, self._length = training.batch_size, training.seq_len
        self._heads, self._shared = model.kv_heads, model.n_head // model.kv_heads
        self._channels = model.d_head
        self._scale = 1 / math.sqrt(model.d_head)
        self._hidden: ndarray | None = None
        if model.window is not None:
            mask = outside(model.attention, model.window, self._length)
            self._hidden = np.where(mask, -np.inf, 0).astype(dtype)

    @property
    def scores_shape(self) -> tuple[int, ...]:
        """Of the attention weights: [batch, kv head, query heads that share it, query, key]."""
        return self._batch, self._heads, self._shared, self._length, self._length

    def forward(self, qkv: ndarray, p: ndarray, y: ndarray) -> None:
        """y = softmax(q k^T / sqrt(channels)) v.

        Args:
            qkv: [rows, all heads' channels of q, then k, then v]; q is scaled in place.
            p: takes the attention weights, of `scores_shape`.
            y: [rows, all query heads' channels], takes the result.
        """
        q, k, v = self._parts(qkv)
        q *= self._scale
        self._multiply(q, k.swapaxes(3, 4), out=p)
        if self._hidden is not None:
            p += self._hidden
        ops.causal_softmax(p.reshape(-1, self._length, self._length))
        self._multiply(p, v, out=self._split(y, self._shared))

    def backward(
        self, dy: ndarray, y: ndarray, qkv: ndarray, p: ndarray, ds: ndarray, dqkv: ndarray
    ) -> None:
        """The gradient of qkv, into dqkv.

        Args:
            dy, y: gradient of the result, and the result.
            qkv, p: as `forward` left them.
            ds: scratch of `scores_shape`.
            dqkv: as qkv.
        """
        q, k, v = self._parts(qkv)
        dq, dk, dv = self._parts(dqkv)
        heads, old = self._split(dy, self._shared), self._split(y, self._shared)
        self._over_sharing(p.swapaxes(3, 4), heads, dv)
        self._multiply(heads, v.swapaxes(3, 4), out=ds)
        along = np.einsum("bkstd,bkstd->bkst", heads, old)
        square = (-1, self._length, self._length)
        ops.softmax_backward(ds.reshape(square), p.reshape(square), along.reshape(square[:2]))
        self._multiply(ds, k, out=dq)
        dq *= self._scale
        self._over_sharing(ds.swapaxes(3, 4), q, dk)  # q has been scaled in the forward pass

    def _split(self, flat: ndarray, shared: int) -> ndarray:
        """A view of [rows, heads x shared x channels] as [batch, head, shared, token, channel]."""
        shape = (self._batch, self._length, self._heads, shared, self._channels)
        return flat.reshape(shape, copy=False).transpose(0, 2, 3, 1, 4)

    def _parts(self, qkv: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Views of q, k and v."""
        keys = self._heads * self._channels
        q, k, v = (
            qkv[:, : -2 * keys],
            qkv[:, -2 * keys : -keys],
            qkv[:, -keys:],
        )
        return self._split(q, self._shared), self._split(k, 1), self._split(v, 1)

    def _over_sharing(self, a: ndarray, b: ndarray, out: ndarray) -> None:
        """out = a @ b, summed over the query heads that share a key head."""
        if a.shape[2] == 1:
            self._multiply(a, b, out=out)
        else:
            np.sum(self._multiply(a, b), axis=2, keepdims=True, out=out)
