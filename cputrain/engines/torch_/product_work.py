"""Operations of matrix products: those that a profile shows, and those that formulas expect in it.

Windows, rows of a batch, layers, heads' widths and blocks computed again all show in their sum.
Imports no torch: the profile's events are objects with methods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from cputrain.experiment import Experiment
from cputrain.experiment.rules import WITH_ATTENTION
from cputrain.model import on_paper, shares, ssm
from cputrain.model.attention_flops import causal_pairs
from cputrain.model.flops import flops_per_step
from cputrain.model.flops import shares as used

FIRST_FACTOR = {
    "aten::mm": 0,
    "aten::bmm": 0,
    "aten::_int_mm": 0,
    "aten::addmm": 1,
    "aten::addmm_": 1,
    "aten::_addmm_activation": 1,
    "aten::baddbmm": 1,
    "aten::baddbmm_": 1,
}
"""Operators that multiply [.., m, k] by [.., k, n], and the place of their first factor."""
LAYERS = ("mkldnn::_linear_pointwise", "mkl::_mkl_linear")
"""Operators that multiply [.., k] by a weight [n, k]."""
FLASH = "aten::_scaled_dot_product_flash_attention_for_cpu"
FLASH_PASSES = {FLASH: (0, 4, 2), f"{FLASH}_backward": (1, 7, 5)}
"""Places of the queries and of is_causal among its inputs; its products."""
LSTM_PASSES = {"aten::mkldnn_rnn_layer": 1, "aten::mkldnn_rnn_layer_backward": 2}
"""Products with each of both weights of oneDNN's layer."""


def executed(events: Iterable[Any]) -> int:
    """Operations of the matrix products among a profile's events; it needs their shapes.

    A product that another one calls is part of that. One that began counts, also where it was
    stopped there.
    """
    total = end = 0
    products = [event for event in events if event.name() in KNOWN]
    for event in sorted(products, key=lambda event: (event.start_ns(), -event.end_ns())):
        if event.start_ns() >= end:
            end = event.end_ns()
            total += _operations(event)
    return total


KNOWN = {*FIRST_FACTOR, *LAYERS, *FLASH_PASSES, *LSTM_PASSES}


def _operations(event: Any) -> int:
    name: str = event.name()
    shapes: list[list[int]] = event.shapes()
    if name in FIRST_FACTOR:
        place = FIRST_FACTOR[name]
        return 2 * math.prod(shapes[place]) * shapes[place + 1][-1]
    if name in LAYERS:
        return 2 * math.prod(shapes[0]) * shapes[1][0]
    if name in LSTM_PASSES:
        tokens, weights = math.prod(shapes[0][:2]), math.prod(shapes[1]) + math.prod(shapes[2])
        return 2 * LSTM_PASSES[name] * tokens * weights
    place, causal, products = FLASH_PASSES[name]
    batch, heads, queries, d_head = shapes[place]
    keys = shapes[place + 1][2]
    skips = event.concrete_inputs()[causal] and queries == keys
    pairs = causal_pairs(queries) if skips else queries * keys
    return 2 * products * batch * heads * d_head * pairs


def expected(experiment: Experiment) -> int | None:
    """What `executed` has of one micro-batch of this experiment, in one of its processes.

    Eagerly, the product at which computing a block again stops has begun. None where inductor
    writes products with a side of one number as loops.
    """
    if experiment.runtime.compile == "inductor" and _has_side_of_one(experiment):
        return None
    if (processes := experiment.system.processes) is not None:
        experiment = shares.of_rank(experiment, processes)
    work = flops_per_step(experiment).total
    if experiment.runtime.compile == "eager":
        work += _stopped(experiment)
    return work // experiment.training.grad_accum


def _stopped(experiment: Experiment) -> int:
    """Operations, in a step, of the products at which computing blocks again stops."""
    if not experiment.training.activation_checkpointing:
        return 0
    leaves_out, tokens = on_paper.of(experiment).leaves_out, experiment.training.tokens_per_step
    return sum(
        2 * math.prod(shape) * count * tokens
        for (name, shape, count), _ in used(experiment)
        if name.startswith("h.") and leaves_out(experiment, name)
    )


def _has_side_of_one(experiment: Experiment) -> bool:
    model, training = experiment.model, experiment.training
    sides = [model.n_embd, training.seq_len, training.batch_size * training.seq_len]
    if model.architecture in WITH_ATTENTION:
        sides += [model.d_head, model.window or training.seq_len]
    if model.architecture == "ssm":
        sides.append(ssm.chunks(experiment)[0])
    return 1 in sides
