"""What torch really executed: operators from its profiler, compilation from dynamo's records."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch._dynamo.utils import counters, get_compilation_metrics
from torch._inductor import metrics as inductor_metrics
from torch.profiler import ProfilerActivity, profile

INTEREST = (
    "scaled_dot_product",
    "softmax",
    "gelu",
    "native_layer_norm",
    "aten::addmm",
    "aten::mm",
    "aten::bmm",
    "mkldnn",
    "_fused_adamw",
    "_foreach",
    "Compiled",
)
"""Parts of the names of operators that are reported."""
EAGER_ONLY = ("aten::gelu", "aten::native_layer_norm", "aten::_log_softmax")
"""Operators that inductor always writes its own loops for: they run where it was left out."""


def profiled() -> AbstractContextManager[profile]:
    """Profile operators on the CPU; costs some 30 ms."""
    manager: AbstractContextManager[profile] = profile(activities=[ProfilerActivity.CPU])
    return manager


def operators(found: profile) -> dict[str, int]:
    """How often each operator or region of interest ran."""
    counted: Counter[str] = Counter()
    for event in found.events() or []:
        if any(part in event.name for part in INTEREST) and "evaluate_function" not in event.name:
            # Inductor's regions carry the key of their generated code.
            counted["CompiledFxGraph" if "CompiledFxGraph" in event.name else event.name] += 1
    return dict(counted)


def step_one_tensor(optimizer: torch.optim.Optimizer, parameter: torch.nn.Parameter) -> None:
    """Let the optimizer update one tensor by a zero gradient, then put everything back.

    Parameters without a gradient are left alone, so this shows which kernel `step` takes
    without training. No parameter may have a gradient before.
    """
    state = optimizer.state.get(parameter)
    before = None if state is None else {name: value.clone() for name, value in state.items()}
    value = parameter.detach().clone()
    parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        parameter.copy_(value)
        if before is None:
            del optimizer.state[parameter]
        else:
            for name, old in before.items():
                optimizer.state[parameter][name].copy_(old)


class Compilation:
    """What dynamo compiled since this was made; its records are the process's."""

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._before = self._now()

    def found(self, ops: dict[str, int]) -> dict[str, Any]:
        """Graphs, breaks, recompilations, and whether compiled code ran in the profiled step.

        "graphs" are the first compilations of a piece of code, "recompiles" all later ones.
        "backend_called" says that a graph of this backend ran both ways, forward and
        backward; "inductor_kernels" is 0 unless that was inductor's own generated code.
        """
        since = {name: now - self._before[name] for name, now in self._now().items()}
        # The backward pass is an operator, and the node of the autograd graph around it.
        ran = "CompiledFunction" in ops and "CompiledFunctionBackward" in ops
        if self._backend == "inductor":
            ran = ran and ops.get("CompiledFxGraph", 0) >= 2
            ran = ran and not any(name in ops for name in EAGER_ONLY)
        return {
            "graphs": since["captured"] - since["recompiles"],
            "graph_breaks": since["graph_breaks"],
            "recompiles": since["recompiles"],
            "backend_called": ran and since["differentiated"] == since["captured"],
            "inductor_kernels": since["kernels"] if ran and self._backend == "inductor" else 0,
        }

    @staticmethod
    def _now() -> dict[str, int]:
        """Totals of this process."""
        return {
            "captured": counters["stats"]["unique_graphs"],
            "differentiated": counters["aot_autograd"]["ok"],
            "graph_breaks": sum(counters["graph_break"].values()),
            "recompiles": sum(bool(m.recompile_reason) for m in get_compilation_metrics()),
            "kernels": inductor_metrics.generated_kernel_count,
        }
