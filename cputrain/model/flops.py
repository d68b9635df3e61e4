"""Floating point operations of a training step. Standard library only."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from cputrain.experiment import Experiment
from cputrain.model import mixing, on_paper
from cputrain.model.products import INT8, runs
from cputrain.model.shapes import Alike, alike

TYPES = {"bf16": "bf16", "mixed": "bf16"}
"""Precision -> type of number in which products are computed, where that is not fp32.

q4 and bitnet are simulated in fp32; what others compute in int8 is in `products.INT8`.
"""
FP32_ALWAYS = ("mlp.router",)
"""Weights of blocks that are multiplied in fp32 in every precision; so is the scan of ssm."""


@dataclass(frozen=True)
class Flops:
    """Floating point operations of one optimizer step: all micro-batches, forward and backward.

    A multiply-add counts as two, also of whole numbers. Norms, activations, softmax, scans,
    quantization and the optimizer are left out, as usual: mostly below 2 % of the operations.

    Attributes:
        matmul: products of tokens with weight matrices, as executed: see `model.products`.
        attention: products of tokens with tokens, as executed: see `model.attention_flops`; what
            other architectures mix tokens with.
        formula: what the usual full formula gives: see `_formula`.
        by_type: `total` by the type of number that is multiplied: fp32, bf16, int8.
    """

    matmul: int
    attention: int
    formula: int
    by_type: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Operations that are executed in matrix products; what rates are computed from."""
        return self.matmul + self.attention


def flops_per_step(experiment: Experiment, *, again: bool = True) -> Flops:
    """Operations of one optimizer step of this experiment.

    Args:
        experiment: settled.
        again: whether what is computed a second time counts: blocks of checkpointing, and scores in
            the backward pass of a fused kernel. Without it, it is the model's own work.
    """
    if not again:
        experiment = experiment.but(activation_checkpointing=False)
    by_type = Counter[str]()
    matmul = 0
    for (name, shape, count), share in shares(experiment):
        if len(shape) != 2:
            continue
        work = round(2 * share * math.prod(shape) * experiment.training.tokens_per_step)
        kinds = _types(experiment, name)
        for kind, times in zip(kinds, runs(experiment, name), strict=True):
            by_type[kind] += count * work * times
            matmul += count * work * times
    attention = _mixing(experiment, again)
    by_type.update(_of_mixing(experiment, attention))
    return Flops(matmul, attention, _formula(experiment), {k: n for k, n in by_type.items() if n})


def _types(experiment: Experiment, name: str) -> tuple[str, str, str]:
    """In which type of number a weight's products are: forward, by input, by weight."""
    precision = experiment.training.precision
    usual = "fp32" if name.endswith(FP32_ALWAYS) else TYPES.get(precision, "fp32")
    if name.startswith("h.") and name.endswith(".weight") and precision in INT8:
        forward, by_input, by_weight = ("int8" if is_int8 else usual for is_int8 in INT8[precision])
        return forward, by_input, by_weight
    return usual, usual, "fp32" if on_paper.of(experiment).turns_factors else usual


def shares(experiment: Experiment) -> list[tuple[Alike, float]]:
    """The weights, and the share of the tokens that each is used for; not what is only looked up.

    A tied token embedding is used as the head.
    """
    looked_up = {"wpe", "relation"} | (set() if experiment.model.tied else {"wte"})
    use = mixing.weight_use(experiment)
    return [
        (its, use.get(its.name.split(".", 2)[2], 1.0) if its.name.startswith("h.") else 1.0)
        for its in alike(experiment)
        if its.name not in looked_up
    ]


def _mixing(experiment: Experiment, again: bool) -> int:
    """Operations of products of tokens with tokens in all blocks, of the pairs that are executed.

    A product has two in its backward pass, one for the gradient of each factor.
    """
    model, training = experiment.model, experiment.training
    forward, backward = mixing.mixing_flops(experiment)
    if not again:
        backward = 2 * forward
    work = forward
    if training.objective != "forward" and training.fine_tuning != "head":
        work += backward + (forward if training.activation_checkpointing else 0)
    return work * model.n_layer * training.batch_size * training.grad_accum


def _of_mixing(experiment: Experiment, work: int) -> dict[str, int]:
    """`work` of products of tokens with tokens by the type of number that is multiplied.

    Where an engine turns factors all of them are fp32, but those of sdpa's scores forward.
    """
    kind = TYPES.get(experiment.training.precision, "fp32")
    if experiment.model.architecture == "ssm" or kind == "fp32":
        return {"fp32": work}
    if not on_paper.of(experiment).turns_factors:
        return {kind: work}
    model, training = experiment.model, experiment.training
    scores = 0
    if experiment.runtime.attention_backend == "sdpa":
        runs = 2 if training.activation_checkpointing else 1
        scores = runs * mixing.mixing_flops(experiment)[0] // 2
        scores *= model.n_layer * training.batch_size * training.grad_accum
    return {kind: scores, "fp32": work - scores}


def _formula(experiment: Experiment) -> int:
    """(6 N + 12 n_layer n_head d_head seq_len) per token (Chowdhery et al. 2022, app. B).

    N are the parameters that a token meets: without tables that are only looked up, and of an
    expert its share. Attention is full, and not halved for causality, whatever its window.
    Without attention the second part is 3 x the forward pass of what mixes tokens instead.
    A forward pass alone is a third; recomputing, freezing and other shortcuts are not in it.
    """
    training = experiment.training
    params = sum(
        share * count * math.prod(shape)
        for (name, shape, count), share in shares(experiment)
        if ".lora_" not in name
    )
    quadratic = mixing.formula_flops(experiment) * experiment.model.n_layer
    passes = 1 if training.objective == "forward" else 3
    return round(passes * (2 * params + quadratic) * training.tokens_per_step)
