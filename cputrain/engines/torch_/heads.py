"""What turns final hidden states into logits. Heads keep full precision, whatever blocks have."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.engines.torch_ import norms
from cputrain.experiment import Experiment


class Head(nn.Module):  # type: ignore[misc]
    """A table of its own, `weight` [vocab_size, n_embd], for a head that is not tied."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        model = experiment.model
        self.weight = nn.Parameter(torch.empty(model.vocab_size, model.n_embd))


class Mlm(nn.Module):  # type: ignore[misc]
    """What BERT has before its table: a layer, GELU and a norm; and the table's `bias` [V].

    As in the released code of Devlin et al. 2019 (run_pretraining.py, get_masked_lm_output).
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        model = experiment.model
        self.dense = nn.Linear(model.n_embd, model.n_embd)
        self.ln_1 = norms.make(experiment)
        self.bias = nn.Parameter(torch.empty(model.vocab_size))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]; what uses the table adds the bias."""
        return cast(Tensor, self.ln_1(F.gelu(self.dense(x))))
