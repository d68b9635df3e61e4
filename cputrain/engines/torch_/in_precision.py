"""Proof that a precision is in force: what was multiplied, and how far the result is from fp32."""

from __future__ import annotations

from collections import Counter

import torch
from torch import Tensor, nn

from cputrain.engines.torch_.evidence import element_types
from cputrain.engines.torch_.forward_difference import check, forward_difference, is_quantized
from cputrain.engines.torch_.linear import layers_of
from cputrain.engines.torch_.schema import PrecisionCheck
from cputrain.experiment import Experiment

TYPES = {"float": "fp32", "c10::BFloat16": "bf16", "signed char": "int8"}
"""The profiler's names of element types, and ours; others keep theirs."""
WEIGHTS = {torch.float32: "fp32", torch.bfloat16: "bf16"}
PRODUCTS = {
    "aten::mm": slice(0, 2),
    "aten::bmm": slice(0, 2),
    "aten::_int_mm": slice(0, 2),
    "aten::addmm": slice(1, 3),
    "aten::baddbmm": slice(1, 3),
    "aten::_addmm_activation": slice(1, 3),
    "aten::mkldnn_rnn_layer": slice(0, 3),
    "aten::_scaled_dot_product_flash_attention_for_cpu": slice(0, 3),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": slice(0, 3),
    "mkldnn::_linear_pointwise": slice(0, 2),
    "mkl::_mkl_linear": slice(0, 2),
    "torch_ipex::ipex_linear": slice(0, 2),
    "torch_ipex::linear_backward": slice(0, 2),
}
"""Operators that multiply matrices, and which of their inputs those are."""
EXPECTED = {
    "fp32": {"fp32"},
    "bf16": {"bf16"},
    "mixed": {"bf16"},
    "q8": {"fp32", "int8"},
    "q8_torchao": {"fp32", "int8"},
    "q4": {"fp32"},
    "bitnet": {"fp32"},
    "bitnet_torchao": {"fp32", "int8"},
}
"""Element types of the matrix products of one step, forward and backward."""
PLAIN = {"fp32": "fp32", "bf16": "bf16", "mixed": "bf16"}
"""Type of a layer's products where layers are torch's own."""
ROUNDINGS = {"q4": (1, 0), "bitnet": (2, 0)}
"""Tensors that a layer rounds, forward and backward, where no product of its own shows it."""
INT8_PRODUCTS = {"q8": (1, 0), "q8_torchao": (1, 2), "bitnet_torchao": (1, 0)}
"""int8 products of a layer, forward and backward."""
PARTLY_FP32 = ("lstm", "ssm", "moe")
"""Architectures that keep a product in fp32 in bf16 and mixed: the scan, the router; and where
lstm's layer casts by itself, what it is given is recorded too."""


def look(
    model: nn.Module,
    experiment: Experiment,
    profile: torch.autograd.profiler.profile,
    *inputs: Tensor,
) -> list[PrecisionCheck]:
    """All checks of a model's precision: `checks` of a profile and `forward_difference`.

    Args:
        model: prepared and not compiled; compiled code around it does not matter.
        experiment: what was asked.
        profile: of one step, taken with record_shapes=True.
        inputs: arguments of `LanguageModel.hidden`.
    """
    difference = forward_difference(model, experiment, *inputs)
    results = checks(experiment, counted(model, profile))
    return [*results, check(experiment, difference)]


def counted(model: nn.Module, profile: torch.autograd.profiler.profile) -> dict[str, int]:
    """What `checks` needs, from a profile of one step taken with record_shapes=True.

    "<operator> <type>" counts each matrix product, such as "aten::mm bf16"; "aten::round" the
    roundings; "weights <type>" the parameters; "quantized layers" and "plain layers" are the
    linear layers of the blocks.
    """
    counts: Counter[str] = Counter()
    for name, types in element_types(profile):
        if name in PRODUCTS:
            kinds = {TYPES.get(kind, kind) for kind in types[PRODUCTS[name]]}
            counts[f"{name} {'+'.join(sorted(kinds))}"] += 1
        elif name == "aten::round":
            counts[name] += 1
    for parameter in model.parameters():
        counts[f"weights {WEIGHTS.get(parameter.dtype, parameter.dtype)}"] += 1
    layers = list(layers_of(model))
    counts["quantized layers"] = sum(is_quantized(layer) for layer in layers)
    counts["plain layers"] = len(layers) - counts["quantized layers"]
    return dict(counts)


def checks(experiment: Experiment, counts: dict[str, int]) -> list[PrecisionCheck]:
    """The types, layers and operations that the precision needs, held against `counted`."""
    precision = experiment.training.precision
    kinds = {name.split()[-1] for name in counts if name.split()[0] in PRODUCTS}
    expected, allowed = EXPECTED[precision], EXPECTED[precision]
    if experiment.model.architecture in PARTLY_FP32:
        allowed = expected | {"fp32"}
    weights = {name.split()[-1] for name in counts if name.startswith("weights ")}
    kept = {"bf16"} if precision == "bf16" else {"fp32"}
    right = expected <= kinds <= allowed
    results = [
        PrecisionCheck("types of matrix products", sorted(expected), sorted(kinds), right),
        PrecisionCheck("types of weights", sorted(kept), sorted(weights), kept == weights),
    ]
    layers = counts["quantized layers"]
    left = counts["plain layers"]
    if precision in PLAIN:
        results.append(PrecisionCheck("quantized layers", 0, layers, not layers))
        of_interest = [f"aten::addmm {PLAIN[precision]}", f"aten::mm {PLAIN[precision]}"]
        if experiment.runtime.matmul_backend == "onednn":
            of_interest.append(f"mkldnn::_linear_pointwise {PLAIN[precision]}")
        done = sum(counts.get(name, 0) for name in of_interest)
        least = left * _times(experiment)[0]
        what = " and ".join(of_interest)
        return [*results, PrecisionCheck(what, f">= {least}", done, done >= least)]
    results.append(PrecisionCheck("quantized layers", "> 0", layers, layers > 0))
    results.append(PrecisionCheck("layers left in fp32", 0, left, not left))
    if precision in ROUNDINGS and experiment.runtime.compile == "inductor":
        return results  # it puts roundings into its own loops
    operation = "aten::_int_mm int8" if precision in INT8_PRODUCTS else "aten::round"
    least, most = (layers * times for times in _times(experiment))
    done = counts.get(operation, 0)
    enough = least <= done <= most
    return [*results, PrecisionCheck(operation, f"{least} to {most}", done, enough)]


def _times(experiment: Experiment) -> tuple[int, int]:
    """Least and most products of its kind, or roundings, that a layer has in a step."""
    training = experiment.training
    forward, backward = {**INT8_PRODUCTS, **ROUNDINGS}.get(training.precision, (1, 2))
    if training.objective == "forward":
        return forward, forward
    again = forward if training.activation_checkpointing else 0
    # With frozen weights, parts of the backward pass are left out.
    whole = training.fine_tuning in ("scratch", "full")
    return forward + (backward if whole else 0), forward + again + backward
