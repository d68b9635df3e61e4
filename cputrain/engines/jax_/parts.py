"""The parts of JAX's step, from XLA's own profile of what it runs.

The profile has the time of every instruction of the compiled program, on each thread; the program's
text has the path of the JAX operation that an instruction comes from, with the names of `scopes`.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from cputrain.engines import EngineError
from cputrain.engines.jax_ import hlo
from cputrain.engines.jax_.scopes import part_of
from cputrain.engines.parts import Times, timed_as_data

if TYPE_CHECKING:
    from cputrain.engines.jax_.engine import JaxEngine

OTHER = "other"
"""Instructions that no path names."""
END = "end: "
"""Begins the names of the marks that XLA leaves where an instruction ends."""


class JaxWatcher:
    """See `cputrain.engines.parts.Watcher`."""

    how = "XLA's profile: the time of each instruction, by the path of the JAX operation"
    unseen = (
        "an instruction that XLA has put together from operations of several parts counts for the "
        "part of its result: additions to the residual stream may be in the norm after them, "
        "biases in the activation; other is what no path names"
    )
    tolerance = 0.15

    def __init__(self, engine: JaxEngine) -> None:
        if "step" not in engine.compiled:
            raise EngineError("the step is not one program here: its parts are not watched")
        self._engine = engine
        self._parts = by_instruction(hlo.parse(engine.compiled["step"].as_text()))
        self._options = jax.profiler.ProfileOptions()
        self._options.python_tracer_level = 0
        self._options.host_tracer_level = 2  # instructions too

    def step(self, train: Callable[[], object]) -> Times:
        """One step. What no instruction runs in is the framework's."""
        times = Times()
        with tempfile.TemporaryDirectory() as folder:
            with (
                jax.profiler.trace(folder, profiler_options=self._options),
                timed_as_data(self._engine, "stacked", times),
            ):
                start = time.perf_counter()
                train()
                times.wall_s = time.perf_counter() - start
            spans = list(_spans(Path(folder)))
        calls = Counter(self._part(span.instruction) for span in spans)
        for part, seconds in shared(spans, self._part).items():
            times.add(part, seconds, calls[part])
        times.add("framework", times.wall_s - sum(times.seconds.values()))
        return times

    def _part(self, instruction: str) -> str:
        return self._parts.get(instruction, OTHER)

    def dispatch_s(self) -> str:
        """Not known: XLA starts an instruction from code of its own."""
        return "XLA does not tell what starting an instruction costs"


class Span(NamedTuple):
    """An instruction that ran on a thread, in nanoseconds."""

    start: float
    end: float
    instruction: str


def by_instruction(module: hlo.Module) -> dict[str, str]:
    """The part of each instruction that has one, by its name.

    A fusion without a path is of the part of the last operation in it that has one. XLA rewrites
    products of several matrices and loses their paths: what has none is of the part that its
    operands have, where they are of one.
    """
    parts: dict[str, str] = {}
    for computation in module.executed():
        for name, instruction in computation.instructions.items():  # operands come first
            part = next(filter(None, map(part_of, _paths(module, instruction))), None)
            operands = {parts[operand] for operand in instruction.operands if operand in parts}
            if part is None and len(operands) == 1:
                part = operands.pop()
            if part is not None:
                parts[name] = part
    return parts


def _paths(module: hlo.Module, instruction: hlo.Instruction) -> Iterator[str]:
    yield instruction.op_name
    for called in instruction.called if instruction.opcode == "fusion" else ():
        inside = module.computations[called].instructions.values()
        yield from (inner.op_name for inner in reversed(list(inside)))


def _spans(folder: Path) -> Iterator[Span]:
    """What a profile says of instructions. Raises EngineError where it says nothing."""
    files = list(folder.rglob("*.xplane.pb"))
    is_empty = True
    for file in files:
        for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
            for event in (event for line in plane.lines for event in line.events):
                instruction = _instruction(event)
                if instruction is not None:
                    is_empty = False
                    yield Span(event.start_ns, event.start_ns + event.duration_ns, instruction)
    if is_empty:
        raise EngineError("JAX's profile has no instructions of XLA's")


def _instruction(event: Any) -> str | None:
    if event.name.startswith(END):
        return None
    return next((str(value) for name, value in event.stats if name == "hlo_op"), None)


def shared(spans: Iterable[Span], part_of: Callable[[str], str]) -> dict[str, float]:
    """Seconds by part: a moment in which several instructions run is shared among them.

    Args:
        spans: of all threads.
        part_of: the part of an instruction.
    """
    changes = sorted(
        change
        for span in spans
        for change in ((span.start, 1, span.instruction), (span.end, -1, span.instruction))
    )
    seconds: Counter[str] = Counter()
    running: Counter[str] = Counter()
    before = 0.0
    for at, change, instruction in changes:
        together = running.total()
        for part, count in running.items():
            if count:
                seconds[part] += (at - before) * count / together / 1e9  # type: ignore[assignment]
        running[part_of(instruction)] += change
        before = at
    return dict(seconds)


def watcher(engine: JaxEngine) -> JaxWatcher:
    """See `cputrain.engines.parts.watcher`."""
    return JaxWatcher(engine)
