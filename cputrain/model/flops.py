"""Floating point operations of a training step. Standard library only."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cputrain.experiment import Experiment
from cputrain.model.shapes import n_params, weight_shapes


@dataclass(frozen=True)
class Flops:
    """Floating point operations of one training step, forward and backward.

    A multiply-add counts as two. Norms, activations, softmax and the optimizer are left
    out, as usual: they are below 2 % of a step's operations.

    Attributes:
        matmul: linear layers and head; the backward pass does twice the forward's.
        attention: scores and weighted sums, as executed: see `_attention`.
        formula: (6 N + 12 n_layer n_embd seq_len) per token (Chowdhery et al. 2022, app. B),
            N without position embeddings; attention is not halved for causality.
    """

    matmul: int
    attention: int
    formula: int

    @property
    def total(self) -> int:
        """Operations that are executed in matrix products; what rates are computed from."""
        return self.matmul + self.attention


def flops_per_step(experiment: Experiment) -> Flops:
    """Operations of one training step of this experiment."""
    model, training = experiment.model, experiment.training
    shapes = weight_shapes(experiment)
    tokens = training.tokens_per_step
    # Matrices without the position table, which is only added: linear layers and the head.
    matrices = sum(
        math.prod(shape) for name, shape in shapes.items() if len(shape) == 2 and name != "wpe"
    )
    params = n_params(experiment) - math.prod(shapes["wpe"])
    quadratic = 12 * model.n_layer * model.n_embd * training.seq_len
    return Flops(
        matmul=6 * matrices * tokens,
        attention=_attention(experiment),
        formula=(6 * params + quadratic) * tokens,
    )


def _attention(experiment: Experiment) -> int:
    """Operations in the attention's matrix products, as executed.

    Manual attention computes every (query, key) pair: 2 products forward, 4 backward.
    torch's fused CPU kernel computes the scores again in the backward pass (2 and 5
    products), and skips keys by whole blocks of 512 only: up to seq_len 512 being causal
    saves nothing (ATen/native/cpu/FlashAttentionKernel.cpp; timing one thread agrees).
    """
    model, training = experiment.model, experiment.training
    length = training.seq_len
    if experiment.runtime.attention_backend == "manual":
        products, pairs = 6, length * length
    else:
        products, pairs = 7, 0
        query_block = 256 if length >= 768 else 64 if length >= 192 else 32
        for start in range(0, length, query_block):
            end = min(start + query_block, length)
            keys = min(math.ceil(end / 512) * 512, length)
            pairs += (end - start) * keys
    return products * 2 * pairs * model.n_embd * model.n_layer * training.batch_size
