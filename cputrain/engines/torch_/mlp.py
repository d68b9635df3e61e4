"""The MLP of a transformer block."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.engines.torch_ import linear
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
