"""Attention written out: all T x T scores, a mask, repeated heads, complex rotary positions."""

import math

import torch


def sees(model, i, j):
    """Whether token i may look at token j."""
    if model.architecture == "bert":
        return True
    if model.attention == "local":
        return j <= i and j // model.window == i // model.window
    if model.attention == "sliding":
        return i - model.window < j <= i
    return j <= i


def turned(x):
    """Pairs (i, i + d/2) of x [B, H, T, d] as complex numbers, times e^(i t 10000^(-2i/d))."""
    length, width = x.shape[-2:]
    pairs = torch.complex(x[..., : width // 2], x[..., width // 2 :])
    by = [[t * 10000 ** (-2 * i / width) for i in range(width // 2)] for t in range(length)]
    pairs = pairs * torch.exp(1j * torch.tensor(by, dtype=torch.float64))
    return torch.cat([pairs.real, pairs.imag], dim=-1)


def reference(model, weights, x):
    """All T x T scores with a mask; heads of keys and values repeated; float64."""
    batch, length, _ = x.shape
    y = x @ weights["qkv.weight"].T + weights.get("qkv.bias", 0)
    y = y.view(batch, length, -1, model.d_head).transpose(1, 2)
    q, k, v = y.split([model.n_head, model.kv_heads, model.kv_heads], dim=1)
    if model.architecture == "llama":
        q, k = turned(q), turned(k)
    heads = [h // (model.n_head // model.kv_heads) for h in range(model.n_head)]
    k, v = k[:, heads], v[:, heads]
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(model.d_head)
    seen = [[sees(model, i, j) for j in range(length)] for i in range(length)]
    scores = torch.where(torch.tensor(seen), scores, -math.inf)
    mixed = torch.einsum("bhij,bhjd->bihd", scores.softmax(-1), v).flatten(2)
    return mixed @ weights["proj.weight"].T + weights.get("proj.bias", 0)
