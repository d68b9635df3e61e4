"""Sequences cut into blocks of `window` tokens, and which keys a query may not see."""

from __future__ import annotations

import functools

import torch
from torch import Tensor


def fold(x: Tensor, window: int) -> Tensor:
    """[B, T, heads, d] -> [B T/window, window, heads, d]: each block is a sequence of its own."""
    return x.reshape(-1, window, *x.shape[2:])


def with_previous(x: Tensor, window: int) -> Tensor:
    """[B, T, heads, d] -> [B (T/window - 1), 2 window, heads, d]: blocks 1, 2, ... of each
    sequence, each behind the block before it."""
    blocks = x.unflatten(1, (-1, window))
    return torch.cat((blocks[:, :-1], blocks[:, 1:]), dim=2).flatten(0, 1)


@functools.cache
def later(length: int) -> Tensor:
    """Keys that come after the query, bool [length, length]; all layers share it."""
    return torch.ones(length, length, dtype=torch.bool, device="cpu").triu(1)


@functools.cache
def outside(window: int) -> Tensor:
    """Of a block and the one before it: keys that the block's queries may not see.

    Query r stands at place window + r of the two blocks; it sees itself and the window - 1
    places before. Bool [window, 2 window]; all layers share it.
    """
    query = torch.arange(window, 2 * window, device="cpu")[:, None]
    back = query - torch.arange(2 * window, device="cpu")
    return (back < 0) | (back >= window)


@functools.cache
def outside_scores(window: int) -> Tensor:
    """`outside` as the fused kernel adds it to the scores: 0 or -inf, float32."""
    scores = torch.zeros(window, 2 * window, device="cpu")
    return scores.masked_fill(outside(window), -torch.inf)
