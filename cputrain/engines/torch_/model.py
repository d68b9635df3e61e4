"""The GPT decoder as a torch module whose parameters carry the names of `model.gpt`."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.experiment import Experiment


class Attention(nn.Module):  # type: ignore[misc]
    """Causal self-attention over [B, T, C], by the fused kernel or by hand."""

    later: Tensor

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        width, length = experiment.model.n_embd, experiment.training.seq_len
        self.n_head = experiment.model.n_head
        self.fused = experiment.runtime.attention_backend == "sdpa"
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        if not self.fused:
            later = torch.ones(length, length, dtype=torch.bool, device="cpu").triu(1)
            self.register_buffer("later", later, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        batch, length, width = x.shape
        heads = (batch, length, self.n_head, width // self.n_head)
        q, k, v = (part.view(heads).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]))
            scores = scores.masked_fill(self.later, -math.inf)
            y = F.softmax(scores, dim=-1) @ v
        return cast(Tensor, self.proj(y.transpose(1, 2).reshape(batch, length, width)))


class Mlp(nn.Module):  # type: ignore[misc]
    """Two layers with the erf form of GELU between."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc = nn.Linear(width, hidden)
        self.proj = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        return cast(Tensor, self.proj(F.gelu(self.fc(x))))


class Block(nn.Module):  # type: ignore[misc]
    """Pre-norm block (Radford et al. 2019)."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        width = experiment.model.n_embd
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(experiment)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, experiment.model.mlp_ratio * width)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        x = x + self.attn(self.ln_1(x))
        return cast(Tensor, x + self.mlp(self.ln_2(x)))


class Gpt(nn.Module):  # type: ignore[misc]
    """The decoder and its loss. Built on the meta device: weights are put in afterwards."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        model = experiment.model
        self.wte = nn.Parameter(torch.empty(model.vocab_size, model.n_embd))
        self.wpe = nn.Parameter(torch.empty(experiment.training.seq_len, model.n_embd))
        self.h = nn.ModuleList(Block(experiment) for _ in range(model.n_layer))
        self.ln_f = nn.LayerNorm(model.n_embd)

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy over targets that are not -100; both int64 [B, T]."""
        x = F.embedding(inputs, self.wte) + self.wpe
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))
