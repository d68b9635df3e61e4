"""One block of gpt, llama and bert: attention and MLP, each with a norm and a residual."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from cputrain.engines.torch_ import dropout, norms
from cputrain.engines.torch_.attention import Attention
from cputrain.engines.torch_.mlp import Mlp
from cputrain.experiment import Experiment


class Block(nn.Module):  # type: ignore[misc]
    """Pre-norm (Radford et al. 2019, sec. 2.3); bert's is post-norm (Vaswani et al. 2017, 3.1).

    Args:
        experiment: whose architecture decides.
        mlp: instead of the usual one, a module [B, T, C] -> [B, T, C].
    """

    def __init__(self, experiment: Experiment, mlp: nn.Module | None = None) -> None:
        super().__init__()
        self.is_post_norm = experiment.model.architecture == "bert"
        self.ln_1 = norms.make(experiment)
        self.attn = Attention(experiment)
        self.ln_2 = norms.make(experiment)
        self.mlp = mlp or Mlp(experiment)
        self.drop = dropout.make(experiment)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        if self.is_post_norm:
            x = self.ln_1(x + self.drop(self.attn(x)))
            return cast(Tensor, self.ln_2(x + self.drop(self.mlp(x))))
        x = x + self.drop(self.attn(self.ln_1(x)))
        return cast(Tensor, x + self.drop(self.mlp(self.ln_2(x))))
