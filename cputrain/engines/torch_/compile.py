"""torch.compile: its settings, what it compiled, and the loops that inductor wrote.

It is imported where something is compiled: an eager worker has no use for inductor's second or two.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch._functorch.config
import torch._inductor.config
from torch import nn
from torch._dynamo.utils import (
    counters,
    get_compilation_metrics,
    set_compilation_metrics_limit,
)
from torch._inductor import metrics as inductor_metrics

from cputrain.engines import EngineError
from cputrain.engines.torch_.schema import CacheUse, Compiled
from cputrain.experiment.runtime import Runtime
from cputrain.machine import compilers

NO_FUSION: dict[str, Any] = {
    "max_fusion_size": 1,
    "epilogue_fusion": False,
    "pattern_matcher": False,
    "realize_opcount_threshold": 0,
    "realize_reads_threshold": 0,
    "realize_acc_reads_threshold": 0,
    "cpp.max_horizontal_fusion_size": 1,
    "inplace_buffers": False,
}
"""Inductor's settings that keep every operation in a loop of its own; none does it alone."""
EAGER_ONLY = ("aten::gelu", "aten::native_layer_norm", "aten::_log_softmax")
"""Operators that inductor always writes its own loops for: they run where it was left out."""
REGION = "Torch-Compiled"
"""Part of what the profiler calls a run of a compiled function."""
CACHE = {
    "fxgraph_hits": ("inductor", "fxgraph_cache_hit"),
    "fxgraph_misses": ("inductor", "fxgraph_cache_miss"),
    "fxgraph_bypasses": ("inductor", "fxgraph_cache_bypass"),
    "autograd_hits": ("aot_autograd", "autograd_cache_hit"),
    "autograd_misses": ("aot_autograd", "autograd_cache_miss"),
    "autograd_bypasses": ("aot_autograd", "autograd_cache_bypass"),
}
"""Dynamo's counters of the caches of compiled code; a bypass is a graph that cannot be kept."""

COMPILATIONS = 10_000
"""Of which dynamo keeps why: by itself of the last 64 of a process, and what falls out is not told
from what never was."""
COMPILER_SAID = "Output:"
"""The line of inductor's error below which the C++ compiler's output stands."""


class Compilation:
    """A module compiled whole by the asked backend, and what dynamo did since then.

    A graph break is an error, not a fallback. Nothing is compiled before the first call.
    Compiled code is kept in the folder TORCHINDUCTOR_CACHE_DIR, for a later process to find.

    Args:
        module: what is compiled; called eagerly it stays eager.
        runtime: backend and fusion.
        trains: whether a step has a backward pass.

    Attributes:
        function: the compiled module.
    """

    def __init__(self, module: nn.Module, runtime: Runtime, trains: bool) -> None:
        self._backend = runtime.compile
        self._inductor = runtime.compile == "inductor"
        self._trains = trains
        self._fusions: Any = None
        options = {} if runtime.fusion else dict(NO_FUSION)
        if self._inductor:
            from cputrain.engines.torch_.fusions import Fusions  # imports inductor

            self._fusions = Fusions()
            # torch.compile takes no classes as options.
            torch._inductor.config._post_fusion_custom_pass = self._fusions
        # On by default; said here because a warm start rests on them.
        torch._inductor.config.fx_graph_cache = True
        torch._functorch.config.enable_autograd_cache = True
        set_compilation_metrics_limit(COMPILATIONS)
        self._before = _totals()
        self._modules_before = len(_modules()) if self._inductor else 0
        self.function: Callable[..., Any] = torch.compile(
            module,
            backend=runtime.compile,
            fullgraph=True,
            dynamic=False,
            options=options or None,
        )

    def evidence(self, ops: dict[str, int]) -> Compiled:
        """What was compiled since the start, and whether it ran in the profiled step.

        Args:
            ops: of the step, see `evidence.operators`.
        """
        since = {name: now - self._before[name] for name, now in _totals().items()}
        # The backward pass is an operator, and the node of the autograd graph around it.
        entered = ("CompiledFunction", "CompiledFunctionBackward") if self._trains else (REGION,)
        ran = all(name in ops for name in entered)
        if self._inductor:
            ran = ran and ops.get("CompiledFxGraph", 0) >= len(entered)
            ran = ran and not any(name in ops for name in EAGER_ONLY)
        of_any_backend = Compiled(
            graphs=since["captured"] - since["recompiles"],
            graph_breaks=since["graph_breaks"],
            recompiles=since["recompiles"],
            backend_called=ran and since["differentiated"] == since["captured"],
        )
        if not self._inductor:
            return of_any_backend
        code = _modules()[self._modules_before :] if ran else []
        fusions = self._fusions
        return Compiled(
            **of_any_backend,
            inductor_kernels=since["kernels"] if ran else 0,
            inductor_loops=sum(outer_loops(path.read_text()) for path in code),
            fused=fusions.units < fusions.operations if fusions.operations else None,
            cache_hits=since["fxgraph_hits"] + since["autograd_hits"],
            cache=CacheUse(**{name: since[name] for name in CACHE}),
        )

    def failure(self, error: Exception) -> Exception:
        """What to raise for an error in a compiled step: memory errors stay what they are."""
        if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
            return error
        # The first line says who failed, the second why; where a compiler did, what it said.
        lines = [line.strip() for line in str(error).split("\n") if line.strip()]
        if COMPILER_SAID in lines:
            said = "\n".join(lines[lines.index(COMPILER_SAID) + 1 :])
            lines[1:] = [f"({compilers.first_error(said)})"]
        text = " ".join([f"{type(error).__name__}:", *lines[:2]])
        return EngineError(f"torch.compile with {self._backend}: {text}")


def _totals() -> dict[str, int]:
    """What dynamo and inductor counted in this process."""
    return {
        "captured": counters["stats"]["unique_graphs"],
        "differentiated": counters["aot_autograd"]["ok"],
        "graph_breaks": sum(counters["graph_break"].values()),
        "recompiles": sum(bool(m.recompile_reason) for m in get_compilation_metrics()),
        "kernels": inductor_metrics.generated_kernel_count,
        **{name: counters[group][key] for name, (group, key) in CACHE.items()},
    }


def _modules() -> list[Path]:
    """Files of the code that inductor has loaded into this process, in order."""
    from torch._inductor.codecache import PyCodeCache  # slow to import, and not always needed

    return [Path(module.__file__) for module in PyCodeCache.modules]


def outer_loops(code: str) -> int:
    """Loops in C++ code that stand inside no other loop.

    Inductor opens every loop's body with a brace and has none in the loop's head.
    """
    loops = 0
    bodies: list[bool] = []  # for each open brace, whether it is a loop's
    head = False
    for word in re.findall(r"\bfor ?\(|[{}]", code):
        if word == "{":
            bodies.append(head)
            head = False
        elif word == "}":
            bodies.pop()
        else:
            loops += not any(bodies)
            head = True
    return loops
