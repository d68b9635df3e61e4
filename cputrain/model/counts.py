"""What a training step costs on paper: parameters, floating point operations, memory.

Standard library only, so that an experiment can be refused before anything is imported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cputrain.experiment import Experiment

FLOAT = 4
"""Bytes of a float32."""


def weight_shapes(experiment: Experiment) -> dict[str, tuple[int, ...]]:
    """The shape of every trained tensor by name: embeddings, blocks in order, last norm."""
    model, width = experiment.model, experiment.model.n_embd
    hidden = model.mlp_ratio * width
    shapes: dict[str, tuple[int, ...]] = {
        "wte": (model.vocab_size, width),
        "wpe": (experiment.training.seq_len, width),
    }

    def layer(name: str, *weight: int) -> None:
        shapes[f"{name}.weight"] = weight
        shapes[f"{name}.bias"] = weight[:1]

    for i in range(model.n_layer):
        layer(f"h.{i}.ln_1", width)
        layer(f"h.{i}.attn.qkv", 3 * width, width)
        layer(f"h.{i}.attn.proj", width, width)
        layer(f"h.{i}.ln_2", width)
        layer(f"h.{i}.mlp.fc", hidden, width)
        layer(f"h.{i}.mlp.proj", width, hidden)
    layer("ln_f", width)
    return shapes


def n_params(experiment: Experiment) -> int:
    """Trained parameters; the head is the token embedding and counts once."""
    return sum(math.prod(shape) for shape in weight_shapes(experiment).values())


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
    if experiment.runtime.attention == "manual":
        products, pairs = 6, length * length
    else:
        products, pairs = 7, 0
        query_block = 256 if length >= 768 else 64 if length >= 192 else 32
        for start in range(0, length, query_block):
            end = min(start + query_block, length)
            keys = min(math.ceil(end / 512) * 512, length)
            pairs += (end - start) * keys
    return products * 2 * pairs * model.n_embd * model.n_layer * training.batch_size


@dataclass(frozen=True)
class Memory:
    """Bytes at the peak of a worker's resident memory, by what they hold.

    Attributes:
        parameters: the trained weights and the initial ones, kept to prove that they moved.
        gradients: one per parameter.
        optimizer: AdamW's two moments.
        activations: what the backward pass needs, and its largest temporaries.
        framework: interpreter, libraries and their buffers.
    """

    parameters: int
    gradients: int
    optimizer: int
    activations: int
    framework: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.parameters + self.gradients + self.optimizer + self.activations + self.framework


FRAMEWORK = {"torch": 330_000_000, "numpy": 60_000_000}
"""Resident bytes of a worker after its imports, by engine."""
COMPILER = {"eager": 0, "aot_eager": 80_000_000, "inductor": 130_000_000}
"""Resident bytes more, by torch.compile's backend."""


def memory_bytes(experiment: Experiment) -> Memory:
    """Estimated peak memory of a worker: good to refuse what cannot fit, not to plan by the byte.

    What the engines keep is counted; the constants were measured, and so were the sums: 0.85
    to 1.2 times the peak, for seq_len 128 to 2048, batch_size 1 to 64, n_embd 128 to 2048,
    vocab_size 257 to 50 000 (torch 2.13, NumPy 2.4).
    """
    runtime, size = experiment.runtime, n_params(experiment) * FLOAT
    return Memory(
        parameters=2 * size,
        gradients=size,
        optimizer=2 * size,
        activations=_activations(experiment) * FLOAT,
        framework=FRAMEWORK[runtime.engine] + COMPILER[runtime.compile],
    )


def _activations(experiment: Experiment) -> int:
    """Numbers kept for the backward pass, and those in use beside them at the peak."""
    model, training, runtime = experiment.model, experiment.training, experiment.runtime
    tokens, width, ratio = training.tokens_per_step, model.n_embd, model.mlp_ratio
    pairs = training.batch_size * model.n_head * training.seq_len**2
    # Both norms' inputs and outputs, q, k, v, attention's output; the hidden layer twice.
    block = tokens * width * (8 + 2 * ratio)
    if runtime.engine == "numpy":
        used = tokens * (model.vocab_size + (7 + ratio) * width) + pairs
        return model.n_layer * (block + pairs) + used
    used = tokens * (3 * model.vocab_size + 4 * ratio * width)
    if runtime.attention == "manual":
        block += pairs + 3 * tokens * width  # the weights, and q, k, v as one block per head
        used += 2 * pairs
    return model.n_layer * block + used
