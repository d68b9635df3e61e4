"""The model's operations by hand in NumPy, each with its backward pass.

Arrays are [rows, channels] where nothing else is said, rows being batch x tokens. Results
go into arrays that the caller gives: fresh ones would be paid for in page faults. Work on
elements goes block by block, so that what one call leaves is in cache for the next.
"""

from __future__ import annotations

import math

import numpy as np
from numpy import ndarray

NORM_EPS = 1e-5
BLOCK = 8192
"""Elements per block: a few blocks of float32 fit a second-level cache."""
QUERY_ROWS = 64
"""Rows of attention scores per block."""

# exp(-x^2 / 2) times this polynomial in t = 1 / (1 + ERF_P |x|) is the tail of the normal
# distribution, within 7.5e-8 (Abramowitz & Stegun 1964, 7.1.26, for x / sqrt(2), halved).
ERF_P = 0.3275911 / math.sqrt(2)
ERF_A = tuple(0.5 * a for a in (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429))


def gelu(x: ndarray, y: ndarray, slope: ndarray) -> None:
    """y = x Phi(x), the erf form of GELU (Hendrycks & Gimpel 2016); slope = dy/dx.

    All contiguous and of the same size.
    """
    x, y, slope = x.reshape(-1), y.reshape(-1), slope.reshape(-1)
    scratch = np.empty((2, min(BLOCK, x.size)), x.dtype)
    for start in range(0, x.size, BLOCK):
        at = slice(start, start + BLOCK)
        here = x[at]
        t, phi = scratch[:, : here.size]
        density = slope[at]  # holds the density until it becomes the slope
        np.abs(here, out=t)
        t *= ERF_P
        t += 1
        np.reciprocal(t, out=t)
        np.multiply(t, ERF_A[4], out=phi)
        for a in ERF_A[3::-1]:
            phi += a
            phi *= t
        np.square(here, out=density)
        density *= -0.5
        np.exp(density, out=density)
        phi *= density
        np.subtract(0.5, phi, out=phi)
        np.copysign(phi, here, out=phi)
        phi += 0.5
        np.multiply(here, phi, out=y[at])
        density *= here
        density *= 1 / math.sqrt(2 * math.pi)
        density += phi


def layer_norm(
    x: ndarray, weight: ndarray, bias: ndarray, y: ndarray, normed: ndarray, scale: ndarray
) -> None:
    """y = normed * weight + bias; normed has mean 0 and variance 1 in each row.

    Args:
        x, y, normed: [rows, channels].
        scale: [rows, 1], takes 1 / sqrt(variance + 1e-5).
    """
    channels = x.shape[1]
    np.mean(x, axis=1, keepdims=True, out=scale)
    np.subtract(x, scale, out=normed)
    np.einsum("rc,rc->r", normed, normed, out=scale[:, 0])
    scale /= channels
    scale += NORM_EPS
    np.sqrt(scale, out=scale)
    np.reciprocal(scale, out=scale)
    normed *= scale
    np.multiply(normed, weight, out=y)
    y += bias


def layer_norm_backward(
    dy: ndarray,
    weight: ndarray,
    normed: ndarray,
    scale: ndarray,
    dweight: ndarray,
    dbias: ndarray,
) -> None:
    """Turn dy into dx in place; overwrites `normed`."""
    channels = dy.shape[1]
    np.einsum("rc,rc->c", dy, normed, out=dweight)
    np.sum(dy, axis=0, out=dbias)
    dy *= weight
    along = np.einsum("rc,rc->r", dy, normed)[:, None] / channels
    dy -= dy.mean(axis=1, keepdims=True)
    normed *= along
    dy -= normed
    dy *= scale


def causal_softmax(scores: ndarray) -> None:
    """Softmax in place over the keys up to each query; later keys get 0.

    Args:
        scores: [heads, queries, keys], queries = keys.
    """
    length = scores.shape[-1]
    rows = min(QUERY_ROWS, length)
    later = np.triu(np.full((rows, rows), -np.inf, scores.dtype), 1)
    for head in scores:
        for start in range(0, length, rows):
            end = min(start + rows, length)
            head[start:end, end:] = 0
            block = head[start:end, :end]
            block[:, start:] += later[: end - start, : end - start]
            block -= block.max(axis=1, keepdims=True)
            np.exp(block, out=block)
            block *= 1 / block.sum(axis=1, keepdims=True)


def softmax_backward(dp: ndarray, p: ndarray, along: ndarray) -> None:
    """Turn dp into the gradient of the scores in place; along = sum over keys of dp * p.

    Args:
        dp, p: [heads, queries, keys].
        along: [heads, queries].
    """
    rows = max(1, 4 * BLOCK // p.shape[-1])
    for head in range(p.shape[0]):
        for start in range(0, p.shape[1], rows):
            block = dp[head, start : start + rows]
            block -= along[head, start : start + rows, None]
            block *= p[head, start : start + rows]


def cross_entropy(logits: ndarray, targets: ndarray, ignore: int) -> float:
    """Mean loss over the targets that count; turns logits into their gradient in place.

    Args:
        logits: [rows, vocabulary].
        targets: [rows] token ids, `ignore` where nothing is to be predicted.

    Returns:
        The loss in nats; not a number where every target is ignored.
    """
    counted = np.flatnonzero(targets != ignore)
    if not counted.size:
        logits[:] = 0
        return math.nan
    chosen = targets[counted]
    logits -= logits.max(axis=1, keepdims=True)
    picked = logits[counted, chosen].astype(np.float64)
    np.exp(logits, out=logits)
    total = logits.sum(axis=1, keepdims=True)
    loss = float((np.log(total[counted, 0].astype(np.float64)) - picked).mean())
    weight = np.zeros_like(total)
    weight[counted] = 1 / counted.size
    logits *= weight / total
    logits[counted, chosen] -= 1 / counted.size
    return loss


def add_rows(table: ndarray, ids: ndarray, rows: ndarray) -> None:
    """table[ids[r]] += rows[r] for every r, repeated ids included (np.add.at is slower)."""
    order = np.argsort(ids, kind="stable")
    distinct, starts = np.unique(ids[order], return_index=True)
    table[distinct] += np.add.reduceat(rows[order], starts, axis=0)
