"""One block of gpt, llama and bert: attention and MLP, each with a norm and a residual."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.engines.torch_ import layers, linear
from cputrain.engines.torch_.attention import Attention
from cputrain.experiment import Experiment
from cputrain.experiment.activations import ACTIVATIONS, is_gated


class Mlp(nn.Module):  # type: ignore[misc]
    """Two layers with the experiment's activation between.

    With a gated activation the first layer gives `hidden` values, then `hidden` gates
    (Shazeer 2020, eq. 5), in one product.
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        model = experiment.model
        bias = model.architecture != "llama"
        self.gated = is_gated(model.activation)
        self.activation = ACTIVATIONS[model.activation]
        rows = model.hidden * (2 if self.gated else 1)
        self.fc = linear.make(experiment, model.n_embd, rows, bias)
        self.proj = linear.make(experiment, model.hidden, model.n_embd, bias)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        hidden = self.fc(x)
        arguments = hidden.chunk(2, dim=-1) if self.gated else (hidden,)
        return cast(Tensor, self.proj(self.activation(F, *arguments)))


class Block(nn.Module):  # type: ignore[misc]
    """Pre-norm (Radford et al. 2019, sec. 2.3); bert's is post-norm (Vaswani et al. 2017, 3.1).

    Args:
        experiment: whose architecture decides.
        mlp: instead of the usual one, a module [B, T, C] -> [B, T, C].
    """

    def __init__(self, experiment: Experiment, mlp: nn.Module | None = None) -> None:
        super().__init__()
        self.is_post_norm = experiment.model.architecture == "bert"
        self.ln_1 = layers.norm(experiment)
        self.attn = Attention(experiment)
        self.ln_2 = layers.norm(experiment)
        self.mlp = mlp or Mlp(experiment)
        self.drop = layers.dropout(experiment)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        if self.is_post_norm:
            x = self.ln_1(x + self.drop(self.attn(x)))
            return cast(Tensor, self.ln_2(x + self.drop(self.mlp(x))))
        x = x + self.drop(self.attn(self.ln_1(x)))
        return cast(Tensor, x + self.drop(self.mlp(self.ln_2(x))))
