"""The parts of an eager torch step, from torch's profiler and the modules that operators run in.

Hooks mark the modules as regions in the profile, only while it runs. A forward operator is of the
region around it. A backward operator is of the part whose forward operator made its node of the
autograd graph: both carry the node's sequence number (torch.autograd.profiler, "Forward-backward
correlation"). What lies in no operator is the framework's: Python, autograd's bookkeeping, and the
profiler's own cost.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

from cputrain.engines.parts import Times
from cputrain.engines.torch_.attention import Attention
from cputrain.engines.torch_.evidence import BACKWARD

if TYPE_CHECKING:
    from cputrain.engines.torch_.engine import TorchEngine

REGION = "cputrain part: "
STEP, MODEL, BLOCK = f"{REGION}step", f"{REGION}model", f"{REGION}elementwise"
NODE = "autograd::engine::evaluate_function"
UPDATE = "Optimizer."
"""What torch calls the optimizer's step and its forgetting of gradients in a profile."""
OPERATORS, TRIES = 300, 7
"""Of what profiling adds: operators in a try, and tries with it and without."""


class TorchWatcher:
    """See `cputrain.engines.parts.Watcher`."""

    how = "torch.profiler; forward operators by the module around them, backward by their node"
    unseen = (
        "an operator's own dispatch is in its part; the profiler's cost of an operator, measured "
        "on small ones, is taken off"
    )
    tolerance = 0.05

    def __init__(self, engine: TorchEngine) -> None:
        self._module = engine.module
        self._cost_s = profiler_cost_s()

    def step(self, train: Callable[[], object]) -> Times:
        """One step."""
        with marked(self._module), profile(activities=[ProfilerActivity.CPU]) as run:
            start = time.perf_counter()
            with record_function(STEP):
                train()
            wall_s = time.perf_counter() - start
        seen = Attributed(run.events() or [])
        times = seen.times
        for part, events in seen.nested.items():
            times.seconds[part] = max(0.0, times.seconds[part] - events * self._cost_s)
        times.wall_s, times.watcher_s = wall_s, self._cost_s * seen.events
        spent_s = sum(times.seconds.values()) + times.watcher_s
        times.add("framework", wall_s - spent_s, calls=0)
        return times

    def dispatch_s(self) -> float:
        """Of an addition of two numbers that are trained, as the profiler sees it; median."""
        x = torch.ones(1, requires_grad=True)
        with profile(activities=[ProfilerActivity.CPU]) as run:
            for _ in range(200):
                x + 1
        spans = [e.cpu_time_total / 1e6 for e in run.events() or [] if e.name == "aten::add"]
        return float(statistics.median(spans))


def profiler_cost_s() -> float:
    """Seconds that profiling adds to an operator: the least of some tries, of small ones."""
    x = torch.ones(1, requires_grad=True)

    def run() -> float:
        start = time.perf_counter()
        for _ in range(OPERATORS):
            x + 1
        return time.perf_counter() - start

    plain, profiled = [], []
    for _ in range(TRIES):
        plain.append(run())
        with profile(activities=[ProfilerActivity.CPU]):
            profiled.append(run())
    return max(0.0, min(profiled) - min(plain)) / OPERATORS


def _part_of(module: nn.Module) -> str | None:
    """The part of the operators that a block's module runs by itself; None: as what is around."""
    if isinstance(module, Attention):
        return "attention"
    return "products" if isinstance(module, nn.Linear) else None


@contextmanager
def marked(model: Any) -> Iterator[None]:
    """Regions in the profile for the model, its blocks, and what is of one part in them."""
    regions = [(model, MODEL), *((block, BLOCK) for block in model.h)]
    if model.ln_f is not None:
        regions.append((model.ln_f, BLOCK))
    for block in model.h:
        inside = ((module, _part_of(module)) for module in block.modules())
        regions += [(module, REGION + part) for module, part in inside if part is not None]
    with ExitStack() as hooks:
        for module, name in regions:
            _mark(module, name, hooks)
        yield


def _mark(module: nn.Module, name: str, hooks: ExitStack) -> None:
    entered: list[Any] = []

    def enter(*_: object) -> None:
        entered.append(record_function(name).__enter__())

    def leave(*_: object) -> None:
        entered.pop().__exit__(None, None, None)

    hooks.callback(module.register_forward_pre_hook(enter).remove)
    hooks.callback(module.register_forward_hook(leave).remove)


class Attributed:
    """What a profile's operators are of.

    Args:
        events: of one step, on one thread.

    Attributes:
        times: by part; nothing for the framework.
        events: of the step in all; nested: by part, those within an operator of it.
    """

    def __init__(self, events: list[Any]) -> None:
        self.times = Times()
        self.events = 0
        self.nested: Counter[str] = Counter()
        self._by_node: dict[int, str] = {}
        root = next(event for event in events if event.name == STEP)
        self._walk(root, "framework")

    def _walk(self, around: Any, part: str) -> None:
        """Count what runs inside an event that is no operator."""
        self.events += 1
        before_blocks, end = True, around.time_range.start
        for event in sorted(around.cpu_children, key=lambda e: e.time_range.start):
            inherited = part if around.name != MODEL else _outside(before_blocks)
            own = self._own(event, inherited)
            if own is None:
                self.count(event, inherited)
            else:
                if event.name == MODEL:  # after what the engine does with the batch
                    self.times.add("data", (event.time_range.start - end) / 1e6)
                self._walk(event, own)
            before_blocks = before_blocks and event.name != BLOCK
            end = event.time_range.end

    def _own(self, event: Any, part: str) -> str | None:
        """The part of what runs inside an event; None where it is an operator itself."""
        name: str = event.name
        if name.startswith(REGION):
            return name.removeprefix(REGION)
        if name.startswith(NODE):
            return self._by_node.get(event.sequence_nr, "elementwise")
        if name.startswith(UPDATE):
            return "optimizer"
        if name == BACKWARD:
            return "head"  # where the gradients start
        return part if "::" not in name else None

    def count(self, event: Any, part: str) -> None:
        """Count an operator that no other one has called."""
        self.times.add(part, event.cpu_time_total / 1e6)
        self._remember(event, part)

    def _remember(self, event: Any, part: str) -> None:
        """Nodes are known by the last operator that has their number: it has made them."""
        self.events += 1
        self.nested[part] += len(event.cpu_children)
        if event.sequence_nr >= 0:
            self._by_node[event.sequence_nr] = part
        for child in event.cpu_children:
            self._remember(child, part)


def _outside(before_blocks: bool) -> str:
    """What the model runs by itself: embeddings before its blocks, the head after them."""
    return "embedding" if before_blocks else "head"


def watcher(engine: TorchEngine) -> TorchWatcher:
    """See `cputrain.engines.parts.watcher`."""
    return TorchWatcher(engine)
