"""What a run of many steps does with an engine beside training it.

A learning rate that changes from step to step, gradients held to a norm, and the state that the
next step depends on, taken out and put back. Each engine's folder has a module `long_run`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from cputrain.engines import EngineError

if TYPE_CHECKING:
    import numpy as np

    from cputrain.engines import Engine

    Arrays = Mapping[str, np.ndarray]


class LongRun(Protocol):
    """A hand on one engine; nothing of this costs anything before it is made."""

    def set_rate(self, rate: float) -> None:
        """Use this learning rate from the next update on, in place of the experiment's."""

    def state(self) -> dict[str, np.ndarray]:
        """Copies of all that the next step depends on beside the weights and the batches.

        The optimizer's state and counters, and the state of random numbers; float32 and integers,
        by name.
        """

    def load_state(self, state: Arrays) -> None:
        """Put such a state in place.

        Raises:
            EngineError: a name is missing or unknown, or a shape differs.
        """


def long_run(engine: Engine, clip: float | None) -> LongRun:
    """The engine's. Comes before its first step.

    Args:
        engine: that has just been built.
        clip: the most that the norm of all gradients of a step together may be: longer ones are
            scaled down to it (Pascanu et al. 2013); None leaves them as they are.

    Raises:
        EngineError: the engine has no such thing.
    """
    name = f"cputrain.engines.{engine.name}_.long_run"
    if importlib.util.find_spec(name) is None:
        raise EngineError(f"the {engine.name} engine cannot be steered: train with another one")
    made: LongRun = importlib.import_module(name).LongRun(engine, clip)
    return made


def check_state(expected: Mapping[str, tuple[int, ...]], state: Arrays) -> None:
    """Raise EngineError unless `state` has exactly the expected names and shapes."""
    for name in sorted(expected.keys() | state.keys()):
        shape = tuple(state[name].shape) if name in state else "nothing"
        if expected.get(name, "nothing") != shape:
            wanted = expected.get(name, "nothing")
            raise EngineError(f"optimizer's state {name}: {shape} given, {wanted} expected")
