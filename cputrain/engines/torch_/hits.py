"""What a model's heads have right of a batch, beside its loss; for evaluation only."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from cputrain.data.batches import IGNORE
from cputrain.engines.accuracy import NODES, TOKENS, Hits


def look(
    model: Any,
    inputs: Tensor,
    targets: Tensor,
    relations: Tensor | None = None,
    node_targets: Tensor | None = None,
) -> tuple[Tensor, Hits]:
    """The loss and the hits of a batch, from one pass through the blocks.

    Logits are computed once more at the places that count alone: 15 % of them where tokens are
    masked.

    Args:
        model: `model.LanguageModel`, in evaluation mode; the others as its `forward` takes them.
    """
    x = model.hidden(inputs, relations)
    state, weight, bias = model.head_input(x)
    counts = {TOKENS: right(state, weight, bias, targets)}
    if node_targets is not None:
        counts[NODES] = right(x, model.node_head.weight, None, node_targets)
    return model.loss_of(x, targets, node_targets), counts


def right(x: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> tuple[int, int]:
    """How many targets are the most likely one, and how many there are but IGNORE.

    Args:
        x: states [B, T, C].
        weight, bias: of the head, [V, C] and [V].
        targets: int64 [B, T].
    """
    places = targets != IGNORE
    likely = F.linear(x[places], weight, bias).argmax(-1)
    return int(torch.count_nonzero(likely == targets[places])), int(torch.count_nonzero(places))
