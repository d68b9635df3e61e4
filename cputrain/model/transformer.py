"""One block of gpt, llama and bert on paper: attention and MLP. Standard library only."""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.experiment.activations import is_gated

Shapes = dict[str, tuple[int, ...]]


def layer(name: str, *weight: int, bias: bool = True) -> Shapes:
    """A linear layer [out, in], or a norm [channels]."""
    return {f"{name}.weight": weight} | ({f"{name}.bias": weight[:1]} if bias else {})


def attention_shapes(experiment: Experiment) -> Shapes:
    """q, k and v of all heads one below the other as one layer, and the projection back."""
    model = experiment.model
    bias = model.architecture != "llama"
    inner = model.n_head * model.d_head
    rows = inner + 2 * model.kv_heads * model.d_head
    return layer("attn.qkv", rows, model.n_embd, bias=bias) | layer(
        "attn.proj", model.n_embd, inner, bias=bias
    )


def block_shapes(experiment: Experiment) -> Shapes:
    """Every tensor of a block; a gated first layer has the values' rows, then the gates'."""
    model = experiment.model
    bias = model.architecture != "llama"
    rows = model.hidden * (2 if is_gated(model.activation) else 1)
    return {
        **layer("ln_1", model.n_embd, bias=bias),
        **attention_shapes(experiment),
        **layer("ln_2", model.n_embd, bias=bias),
        **layer("mlp.fc", rows, model.n_embd, bias=bias),
        **layer("mlp.proj", model.n_embd, model.hidden, bias=bias),
    }
