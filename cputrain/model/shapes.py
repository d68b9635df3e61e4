"""The shape of every trained tensor by name, for every architecture. Standard library only."""

from __future__ import annotations

import math
from typing import NamedTuple

from cputrain.experiment import Experiment
from cputrain.model import gmlp, lstm, moe, ssm, transformer
from cputrain.model.transformer import Shapes, layer

BLOCKS = {
    "gpt": transformer.block_shapes,
    "llama": transformer.block_shapes,
    "bert": transformer.block_shapes,
    "lstm": lstm.block_shapes,
    "gmlp": gmlp.block_shapes,
    "ssm": ssm.block_shapes,
    "moe": moe.block_shapes,
}
"""By architecture: the tensors of one block, without the `h.<i>.` before their names."""

RELATIONS = 12
"""Relations that a masked node can stand in to its token."""
LORA_RANK = 8
LORA_LAYERS = ("attn.qkv", "attn.proj")
"""Layers that low-rank adaptation adds to (Hu et al. 2022, sec. 4.2: the attention's)."""


class Alike(NamedTuple):
    """Tensors that have the same place in their blocks; one that is in no block is alone.

    Attributes:
        name: of the first of them.
        shape: of each.
        copies: how many they are.
    """

    name: str
    shape: tuple[int, ...]
    copies: int


def weight_shapes(experiment: Experiment) -> Shapes:
    """Every tensor: embeddings, blocks in order, last norm, heads, low-rank additions."""
    model, training = experiment.model, experiment.training
    width, rows = model.n_embd, model.vocab_size
    shapes: Shapes = {"wte": (rows, width)}
    if model.architecture in ("gpt", "bert", "moe"):
        shapes["wpe"] = (training.seq_len, width)
    if model.architecture == "bert":
        shapes |= layer("ln_emb", width)
    if training.objective == "masked_node":
        shapes["relation"] = (RELATIONS, width)
    block = BLOCKS[model.architecture](experiment)
    for i in range(model.n_layer):
        shapes |= {f"h.{i}.{name}": shape for name, shape in block.items()}
    if model.architecture == "bert":  # its blocks end in a norm; the head has a layer of its own
        shapes |= layer("mlm.dense", width, width) | layer("mlm.ln_1", width)
        shapes["mlm.bias"] = (rows,)
    else:
        shapes |= layer("ln_f", width, bias=model.architecture != "llama")
    if not model.tied:
        shapes["head.weight"] = (rows, width)
    if training.objective == "masked_node":
        shapes["node_head.weight"] = (rows, width)
    if training.fine_tuning == "lora":
        shapes |= _lora(shapes)
    return shapes


def _lora(shapes: Shapes) -> Shapes:
    """For each adapted layer W: b @ a is added to it, b [out, rank], a [rank, in]."""
    adapters: Shapes = {}
    for name, shape in shapes.items():
        adapted = name.removesuffix(".weight")
        if name.endswith(".weight") and adapted.endswith(LORA_LAYERS):
            adapters[f"{adapted}.lora_a"] = (LORA_RANK, shape[1])
            adapters[f"{adapted}.lora_b"] = (shape[0], LORA_RANK)
    return adapters


def is_trained(experiment: Experiment, name: str) -> bool:
    """Whether training changes a tensor: any, or what fine-tuning leaves free."""
    how = experiment.training.fine_tuning
    if how == "head":
        return name == "head.weight"
    return how != "lora" or ".lora_" in name


def trained(experiment: Experiment) -> tuple[str, ...]:
    """Names of the tensors that training changes."""
    return tuple(name for name in weight_shapes(experiment) if is_trained(experiment, name))


def alike(experiment: Experiment) -> list[Alike]:
    """Every tensor; all blocks from the second on are one, so many blocks take no longer than two.

    The first one has names of its own: what lies lowest is not always run as the others are.
    """
    n_layer = experiment.model.n_layer
    shallow = experiment.but(n_layer=min(n_layer, 2))
    return [
        Alike(name, shape, n_layer - 1 if name.startswith("h.1.") else 1)
        for name, shape in weight_shapes(shallow).items()
    ]


def n_params(experiment: Experiment) -> int:
    """Parameters of the model; a tied head is the token embedding and counts once."""
    return sum(count * math.prod(shape) for _, shape, count in alike(experiment))


def n_trained(experiment: Experiment) -> int:
    """Parameters that training changes."""
    return sum(
        count * math.prod(shape)
        for name, shape, count in alike(experiment)
        if is_trained(experiment, name)
    )
