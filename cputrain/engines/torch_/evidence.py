"""What torch really executed: operators from its profiler, and blocks that ran twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.profiler import profile, record_function

from cputrain.engines.torch_.schema import MASK, Given, OptimizerKernel
from cputrain.record.evidence import SHARE_DIGITS

INTEREST = (
    "scaled_dot_product",
    "softmax",
    "bernoulli",
    "aten::gelu",
    "native_layer_norm",
    "aten::addmm",
    "aten::mm",
    "aten::bmm",
    "aten::_int_mm",
    "mkldnn",
    "_fused_adamw",
    "_fused_sgd",
    "_foreach",
    "ompiled",
    "torch_ipex::",
    "IPEXLinearOp::",
)
"""Parts of the names of operators that are reported."""
PRODUCTS = (
    *("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_int_mm"),
    "mkldnn::_linear_pointwise",
)
"""Operators that multiply matrices, without those that call them."""
BATCHED = "aten::bmm"
LOG_SOFTMAX = "aten::_log_softmax"
ATTENTION = ("_scaled_dot_product_flash_attention_for_cpu", "aten::_softmax")
"""Operators of attention, fused and by hand: their first input has a row for each query."""
ATTENTION_KERNEL = f"aten::{ATTENTION[0]}"
PER_HEAD = 4
"""Dimensions of that: a router's softmax has fewer."""
OPTIMIZER_STEP = "Optimizer.step#"
"""Before the name of the optimizer whose step is a region of the profile."""
BACKWARD = "cputrain: backward"
"""The profiled region of the backward pass."""


def profiled() -> AbstractContextManager[profile]:
    """Profile operators on the CPU, with the shapes of their inputs; costs some 30 ms.

    By what torch.profiler is built on, which itself imports inductor to ask for a setting of it.
    """
    manager: AbstractContextManager[profile] = profile(record_shapes=True)
    return manager


def in_backward() -> AbstractContextManager[Any]:
    """Marks the backward pass for `products_again`; costs microseconds where not profiled."""
    marked: AbstractContextManager[Any] = record_function(BACKWARD)
    return marked


def ran(step: profile) -> list[Any]:
    """What ran, as the profiler's library has it, an object with methods for each.

    `step.events()` makes objects of all that is known of each and a tree of them, in Python: 0.1 s
    of the 2 s of a worker of short steps.
    """
    assert step.kineto_results is not None  # it has stopped
    events: list[Any] = step.kineto_results.events()
    return events


def operators(step: profile) -> dict[str, int]:
    """How often each operator or region of interest ran."""
    counted: Counter[str] = Counter()
    for event in ran(step):
        name = event.name()
        if any(part in name for part in INTEREST) and "evaluate_function" not in name:
            # Inductor's regions carry the key of their generated code, dynamo's a number.
            general = next((g for g in ("CompiledFxGraph", "Torch-Compiled") if g in name), name)
            counted[general] += 1
    return dict(counted)


def given(step: profile, compiled: bool) -> Given:
    """What head, attention and dropout were given in a step: sizes of arrays, and shares.

    Of compiled code only what it calls of attention's operators, as it does the fused kernel.
    Needs a profile with shapes.
    """
    firsts = [(event.name(), event.shapes()[0]) for event in ran(step) if event.shapes()]
    queries = [
        shape[-2] for name, shape in firsts if name.endswith(ATTENTION) and len(shape) == PER_HEAD
    ]
    called = _calls_of_attention(ran(step))
    if compiled:
        return {"queries": max(queries), **called} if queries else called
    rows = [shape[0] for name, shape in firsts if name == LOG_SOFTMAX]
    stays = {event.concrete_inputs()[1] for event in ran(step) if event.name() == MASK}
    return {
        "logit_rows": max(rows, default=0),
        "queries": max(queries, default=0),
        "dropped": sorted({round(1 - share, SHARE_DIGITS) for share in stays}),
        **called,
    }


def _calls_of_attention(events: Iterable[Any]) -> Given:
    """Heads of the fused kernel's calls, and the numbers of products at a time, each once."""
    fused = [event.shapes() for event in events if event.name() == ATTENTION_KERNEL]
    return {
        "heads": sorted(map(list, {(q[1], k[1]) for q, k, *_ in fused})),
        "batched": sorted({event.shapes()[0][0] for event in events if event.name() == BATCHED}),
    }


def element_types(step: profile) -> list[tuple[str, list[str]]]:
    """Each operator that ran, and the types of its inputs; needs a profile with shapes."""
    return [(event.name(), event.dtypes()) for event in ran(step)]


def optimizer_kernel(step: profile) -> OptimizerKernel | None:
    """Which of runtime.optimizer_kernel the profiled optimizer's steps took; None without one."""
    events = [(event.start_ns(), event.end_ns(), event.name()) for event in ran(step)]
    steps = [(start, end) for start, end, name in events if name.startswith(OPTIMIZER_STEP)]
    kernels = {
        _kernel({name for at, _, name in events if start <= at <= end}) for start, end in steps
    }
    if len(kernels) > 1:
        return "several"
    return kernels.pop() if kernels else None


def _kernel(names: set[str]) -> OptimizerKernel:
    if any(name.startswith(("aten::_fused_adamw", "aten::_fused_sgd")) for name in names):
        return "fused"  # it calls a _foreach_ of its own, for its counters
    return "foreach" if any(name.startswith("aten::_foreach") for name in names) else "default"


def optimizer_name(step: profile) -> str | None:
    """The class whose step was profiled; None without one, or with several."""
    names = {event.name() for event in ran(step) if event.name().startswith(OPTIMIZER_STEP)}
    steps = [name.removeprefix(OPTIMIZER_STEP).removesuffix(".step") for name in names]
    return steps[0] if len(steps) == 1 else None


def products_again(step: profile, vocab_size: int) -> bool:
    """Whether the backward pass multiplied more matrices than it does without computing again.

    That is two for each of the forward pass: the gradients of its two factors. Products with
    the vocabulary are left out, as a chunked loss has those of its gradients in the forward
    pass. Needs a profile with shapes.
    """
    events = ran(step)
    marks = [event for event in events if event.name() == BACKWARD]
    products = [
        event.start_ns()
        for event in events
        if event.name() in PRODUCTS and not any(vocab_size in shape for shape in event.shapes())
    ]
    inside = sum(any(mark.start_ns() <= at <= mark.end_ns() for mark in marks) for at in products)
    return inside > 2 * (len(products) - inside)


class Runs:
    """How often the forward pass of each block ran."""

    def __init__(self, blocks: int) -> None:
        self.counts = [0] * blocks

    def all(self) -> bool:
        """Whether each block ran more than once."""
        return min(self.counts) > 1

    def each_once(self) -> list[int]:
        """The counts of the blocks, those that are alike once."""
        return sorted(set(self.counts))


@contextmanager
def block_runs(blocks: nn.ModuleList, hidden: bool) -> Iterator[Runs]:
    """Count the runs of each block; not where they are `hidden` in a compiled model.

    Hooks would have that compiled again.
    """
    runs = Runs(len(blocks))

    def count(place: int) -> Any:
        def ran(*_: object) -> None:
            runs.counts[place] += 1

        return ran

    watched = [] if hidden else list(enumerate(blocks))
    hooks = [block.register_forward_pre_hook(count(place)) for place, block in watched]
    try:
        yield runs
    finally:
        for hook in hooks:
            hook.remove()


def expert_load(blocks: nn.ModuleList) -> list[list[float]] | None:
    """Share of the tokens that each expert had in the last pass, by block; None without experts."""
    loads = [getattr(module, "load", None) for block in blocks for module in block.modules()]
    loads_by_block = [load.tolist() for load in loads if isinstance(load, Tensor)]
    return loads_by_block or None


def keep_random() -> AbstractContextManager[None]:
    """Puts torch's random numbers back afterwards, so that looking does not change training."""
    manager: AbstractContextManager[None] = torch.random.fork_rng(devices=[])
    return manager
