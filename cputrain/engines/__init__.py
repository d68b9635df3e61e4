"""Engines: the libraries that train. All start from the same weights and do the same work."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from cputrain.engines import specs
from cputrain.engines.pass_clock import PassClock
from cputrain.experiment import Experiment
from cputrain.record.evidence import Evidence

if TYPE_CHECKING:
    import numpy as np

    from cputrain.data.batches import Batch

    Weights = Mapping[str, np.ndarray]


NEVER = 10**9
"""A threshold of the garbage collector that nothing reaches; it takes 32 bits."""


Its = TypeVar("Its", bound=Evidence, covariant=True)


@dataclass(frozen=True)
class Looked(Generic[Its]):
    """What a look at a step told.

    Attributes:
        evidence: see `Engine.evidence`.
        gradients: of what is trained, by the pass that was run for it; None where none was.
    """

    evidence: Its
    gradients: Weights | None = None


class EngineError(RuntimeError):
    """What an engine cannot do as asked: one line for people."""


class Engine(Protocol):
    """One model in training. Weights and gradients go by the names of `model.shapes`, float32."""

    name: str
    no_passes: str | None
    """Why the boundaries of passes are not seen; None where they are."""

    @property
    def pass_clock(self) -> PassClock | None:
        """What its passes took so far; None for `no_passes`."""

    def train_step(self, *batches: Batch) -> float:
        """One optimizer step on these micro-batches; their loss before the update.

        A loss is the mean cross-entropy in nats over the targets that are not ignored, of all the
        micro-batches together (`engines.accumulating.weighed`). With
        objective = "forward" a step is a forward pass that leaves the weights alone.

        Raises:
            EngineError: compilation failed, or a batch of another shape than the experiment's.
        """

    def accumulate(self, batch: Batch, share: float) -> float:
        """Forward and backward; `share` of the gradients is added up for `update`. The loss."""

    def update(self) -> None:
        """Let the optimizer take a step on the gradients added up, and forget them."""

    def synchronize(self) -> None:
        """Wait until everything asked for is done."""

    def loss(self, batch: Batch) -> float:
        """The loss as in `train_step`; nothing changes."""

    def gradients(self, batch: Batch) -> dict[str, np.ndarray]:
        """The gradient of the loss by every weight; nothing changes."""

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the present weights."""

    def load_weights(self, weights: Weights) -> None:
        """Put other weights in place; the optimizer's state stays.

        Raises:
            EngineError: a name is missing or unknown, or a shape differs.
        """

    @property
    def steps_done(self) -> int:
        """Updates so far, by the optimizer's own counter; the least over all weights."""

    def state_bytes(self) -> int:
        """Bytes of the optimizer's state."""

    def excused(self) -> dict[str, str]:
        """Weights that need not move although they train, each with the reason."""

    def versions(self) -> dict[str, str]:
        """Version by library."""

    def readings(self) -> dict[str, Any]:
        """What the libraries themselves report to be in force."""

    def evidence(self, batch: Batch) -> Evidence:
        """What one step really executes, found by profiling one; nothing changes.

        It is of the type that the engine's spec names.
        """

    def looked(self, batch: Batch) -> Looked[Evidence]:
        """The evidence, with the gradients of its own pass, which saves another one for them."""


def load(name: str) -> ModuleType:
    """Import an engine and what it needs; this can take seconds.

    Raises:
        EngineError: no such engine, or its library is not installed.
    """
    if name not in specs.NAMES:
        raise EngineError(f"engine = {name!r}: one of {', '.join(specs.NAMES)} is needed")
    module = f"cputrain.engines.{name}_.engine"
    if module in sys.modules:
        return sys.modules[module]
    try:
        with _single_full_collection():
            return importlib.import_module(module)
    except ImportError as error:
        raise EngineError(f"the {name} engine cannot be imported: {error}") from error


@contextmanager
def _single_full_collection() -> Iterator[None]:
    """Collect the oldest generation of objects once, at the end.

    torch makes 300 000 that last, and Python would go through all of them five times: that is
    a fifth of the time of its import.
    """
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)
        gc.collect()


def build(experiment: Experiment, weights: Weights) -> Engine:
    """The experiment's engine with these initial weights, which it copies.

    Raises:
        ExperimentError: the engine cannot take the experiment.
        EngineError: the engine cannot be imported, or the weights do not fit the model.
    """
    experiment = specs.settle(experiment)
    engine: Engine = load(experiment.runtime.engine).build(experiment, weights)
    return engine


def check_weights(expected: Mapping[str, tuple[int, ...]], weights: Weights) -> None:
    """Raise EngineError unless `given` has exactly the expected names and shapes."""
    for name in expected.keys() | weights.keys():
        shape = tuple(weights[name].shape) if name in weights else "nothing"
        if expected.get(name, "nothing") != shape:
            raise EngineError(
                f"weight {name}: {shape} given, {expected.get(name, 'nothing')} expected"
            )


def copy_weights(arrays: Weights, weights: Weights) -> None:
    """Copy `weights` into an engine's `arrays`. Raises EngineError where they do not fit."""
    check_weights({name: array.shape for name, array in arrays.items()}, weights)
    for name, array in arrays.items():
        array[...] = weights[name]
