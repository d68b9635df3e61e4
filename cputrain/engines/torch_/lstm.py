"""The LSTM block: see `model.lstm` for its form and sizes."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from cputrain.engines.torch_ import layers, linear
from cputrain.experiment import Experiment
from cputrain.model import lstm


class Weight(nn.Module):  # type: ignore[misc]
    """A bare `weight`, so that it carries the name that `model.lstm` gives it."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(rows, columns))


class Lstm(nn.Module):  # type: ignore[misc]
    """One layer over [B, T, C], from a state of zeros (Gers et al. 2000):

    i, f, g, o = W x_t + R h_(t-1) + b;  c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g);
    h_t = sigmoid(o) tanh(c_t).

    oneDNN's layer is called by its own name: torch.lstm would choose it where it can and run
    a loop over the tokens, some times slower, where it cannot; so it raises RuntimeError there.
    """

    def __init__(self, n_in: int, cells: int) -> None:
        super().__init__()
        self.cells = cells
        self.input = Weight(lstm.GATES * cells, n_in)
        self.recurrent = Weight(lstm.GATES * cells, cells)
        self.bias = nn.Parameter(torch.empty(lstm.GATES * cells))

    def forward(self, x: Tensor) -> Tensor:
        """h of every token: [B, T, C] -> [B, T, cells]."""
        by_token = x.transpose(0, 1).contiguous()
        weights = (self.input.weight, self.recurrent.weight, self.bias)
        start = x.new_zeros(1, x.shape[0], self.cells)
        h, _, _, _ = torch.mkldnn_rnn_layer(
            by_token,
            *weights,
            torch.zeros_like(self.bias),  # a second bias is the layer's own idea
            start,
            start,
            reverse=False,
            batch_sizes=[],
            mode=2,  # LSTM, in at::native::ideep_rnn_kind
            hidden_size=self.cells,
            num_layers=1,
            has_biases=True,
            bidirectional=False,
            batch_first=False,
            train=torch.is_grad_enabled(),
        )
        return cast(Tensor, h.transpose(0, 1))


class Block(nn.Module):  # type: ignore[misc]
    """x + proj(lstm(ln_1(x)))."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        width, cells = experiment.model.n_embd, lstm.hidden(experiment)
        self.ln_1 = layers.norm(experiment)
        self.lstm = Lstm(width, cells)
        self.proj = linear.make(experiment, cells, width, bias=True)
        self.drop = layers.dropout(experiment)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        return cast(Tensor, x + self.drop(self.proj(self.lstm(self.ln_1(x)))))
