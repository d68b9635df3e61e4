"""Self-attention of gpt, llama, bert and moe: full, local or sliding; fused kernel or by hand.

What is executed, for the counts of operations. A (query, key) pair costs 2 d_head operations
in each product, in each of the n_head query heads: sharing keys and values among heads saves
none. Pairs of one sequence of T tokens, in windows of W:

                       attention_backend = manual    sdpa
    full               T^2                           causal(T); bert: T^2
    local              T W                           T/W causal(W)
    sliding            W^2 + (T - W) 2 W             causal(W) + (T - W) 2 W

    forward products   2: scores, weighted sum       2
    backward products  4: by weights, v, q, k        5: the scores again, then those

causal(T) is the fused kernel's (ATen/native/cpu/FlashAttentionKernel.cpp, torch 2.13). It
takes queries by blocks of 32 (T < 192), 64 (T < 768) or 256, and keys by blocks of 512; a
block of queries skips the key blocks that lie wholly after its last query:
sum over blocks of (queries in it) x min(T, 512 ceil(end of it / 512)); T^2 up to T = 512.
With a mask (sliding) or without causality (bert) it skips nothing.
"""

from __future__ import annotations

import functools
import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.engines.torch_ import linear
from cputrain.engines.torch_.layers import Rotary
from cputrain.experiment import Experiment


class Attention(nn.Module):  # type: ignore[misc]
    """Multi-head self-attention over [B, T, C] (Vaswani et al. 2017, sec. 3.2).

    Keys and values may have fewer heads, each for a group of neighbouring query heads
    (Shazeer 2019; Ainslie et al. 2023). Positions are rotary with architecture = "llama";
    "bert" sees later tokens too. Dropout acts on the attention weights (`manual` only).
    local: tokens see the tokens up to themselves in their block of `window`. sliding: each
    token sees itself and the window - 1 before it; queries of block i meet keys of blocks
    i - 1 and i (Beltagy et al. 2020, sec. 3.1), the first block those of its own alone.
    """

    later: Tensor | None
    outside: Tensor | None

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        model, length = experiment.model, experiment.training.seq_len
        self.d_head, self.dropout = model.d_head, model.dropout
        self.fused = experiment.runtime.attention_backend == "sdpa"
        self.causal = model.architecture != "bert"
        self.local = model.attention == "local"
        # A window of the whole sequence is full attention: then there is nothing to cut.
        self.window = None if model.window == length else model.window
        inner, shared = model.n_head * model.d_head, model.kv_heads * model.d_head
        self.widths = (inner, shared, shared)
        bias = model.architecture != "llama"
        self.qkv = linear.make(experiment, model.n_embd, sum(self.widths), bias)
        self.proj = linear.make(experiment, inner, model.n_embd, bias)
        rotates = model.architecture == "llama"
        self.rotary = Rotary(length, model.d_head) if rotates else None
        later = later_keys(self.window or length) if self.causal and not self.fused else None
        self.register_buffer("later", later, persistent=False)
        outside = None
        if self.window is not None and not self.local:
            form = outside_scores if self.fused else outside_keys
            outside = form(self.window)
        self.register_buffer("outside", outside, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]; T is the experiment's seq_len."""
        parts = self.qkv(x).split(self.widths, dim=2)
        q, k, v = (part.unflatten(2, (-1, self.d_head)) for part in parts)
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        if self.window is None:
            y = self._mix(q, k, v)
        elif self.local:
            y = self._mix(*(fold(part, self.window) for part in (q, k, v)))
        else:
            y = self._slide(q, k, v, self.window)
        return cast(Tensor, self.proj(y.reshape(*x.shape[:2], self.widths[0])))

    def _slide(self, q: Tensor, k: Tensor, v: Tensor, window: int) -> Tensor:
        """Sliding attention, [B, T, heads, d] each; no missing keys are made up and masked."""
        first = self._mix(q[:, :window], k[:, :window], v[:, :window])
        k, v = with_previous(k, window), with_previous(v, window)
        others = self._mix(fold(q[:, window:], window), k, v, self.outside)
        return torch.cat((first, others.reshape(len(q), -1, *q.shape[2:])), dim=1)

    def _mix(self, q: Tensor, k: Tensor, v: Tensor, outside: Tensor | None = None) -> Tensor:
        """[N, Q, n_head, d], twice [N, K, kv_heads, d] -> [N, Q, n_head, d]; see the kernels."""
        if self.fused:
            return fused(q, k, v, outside, self.causal and outside is None)
        hidden = self.later if outside is None else outside
        return manual(q, k, v, hidden, self.dropout if self.training else 0.0)


def fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """torch's fused kernel. It knows shared heads (enable_gqa) and then copies nothing.

    q [N, Q, n_head, d], k and v [N, K, kv_heads, d] -> [N, Q, n_head, d]. The mask [Q, K] is
    added to the scores.
    """
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    y = F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]
    )
    return cast(Tensor, y.transpose(1, 2))


def manual(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, dropout: float) -> Tensor:
    """Scores, mask, softmax, dropout, weighted sum, one by one. Shapes as in `fused`.

    The query heads that share keys are rows of one matrix, so no keys are repeated. `hidden`
    [Q, K] is true where a query may not see a key.
    """
    n, length, heads, d_head = q.shape
    shared = k.shape[2]
    grouped = q.unflatten(2, (shared, heads // shared)).permute(0, 2, 3, 1, 4)
    rows = grouped.reshape(n, shared, -1, d_head)  # [N, kv_heads, group x Q, d]
    scores = (rows @ k.permute(0, 2, 3, 1)) * (1 / math.sqrt(d_head))
    if hidden is not None:
        by_query = scores.unflatten(2, (-1, length)).masked_fill(hidden, -math.inf)
        scores = by_query.flatten(2, 3)
    weights = F.softmax(scores, dim=-1)
    if dropout:
        weights = F.dropout(weights, dropout)
    y = (weights @ v.transpose(1, 2)).unflatten(2, (-1, length))
    return y.permute(0, 3, 1, 2, 4).flatten(2, 3)


def fold(x: Tensor, window: int) -> Tensor:
    """[B, T, heads, d] -> [B T/window, window, heads, d]: each block is a sequence of its own."""
    return x.reshape(-1, window, *x.shape[2:])


def with_previous(x: Tensor, window: int) -> Tensor:
    """[B, T, heads, d] -> [B (T/window - 1), 2 window, heads, d]: blocks 1, 2, ... of each
    sequence, each behind the block before it."""
    blocks = x.unflatten(1, (-1, window))
    return torch.cat((blocks[:, :-1], blocks[:, 1:]), dim=2).flatten(0, 1)


@functools.cache
def later_keys(length: int) -> Tensor:
    """Keys that come after the query, bool [length, length]; all layers share it."""
    return torch.ones(length, length, dtype=torch.bool, device="cpu").triu(1)


@functools.cache
def outside_keys(window: int) -> Tensor:
    """Of a block and the one before it: keys that the block's queries may not see.

    Query r stands at place window + r of the two blocks; it sees itself and the window - 1
    places before. Bool [window, 2 window]; all layers share it.
    """
    query = torch.arange(window, 2 * window, device="cpu")[:, None]
    back = query - torch.arange(2 * window, device="cpu")
    return (back < 0) | (back >= window)


@functools.cache
def outside_scores(window: int) -> Tensor:
    """`outside_keys` as the fused kernel adds it to the scores: 0 or -inf, float32."""
    scores = torch.zeros(window, 2 * window, device="cpu")
    return scores.masked_fill(outside_keys(window), -torch.inf)
