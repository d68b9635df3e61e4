"""The MLP's activations, by the lines of `model.activations`, with jax.nn's functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
from jax import Array, lax

from cputrain.engines import EngineError
from cputrain.experiment.activations import ACTIVATIONS


class _Functions:
    """torch.nn.functional's names and defaults, as `model.activations` calls them.

    Most functions of jax.nn have the same name and the same defaults there.
    """

    def gelu(self, x: Array, approximate: str = "none") -> Array:
        """x Phi(x) by erf, as torch has it, or its tanh form (Hendrycks & Gimpel 2016).

        jax.nn.gelu writes the first by erfc, whose loops have two branches to choose from.
        """
        if approximate == "tanh":
            return jax.nn.gelu(x, approximate=True)
        return 0.5 * x * (1 + lax.erf(x * math.sqrt(0.5)))

    def __getattr__(self, name: str) -> Callable[..., Array]:
        function: Callable[..., Array] = getattr(jax.nn, name)
        return function


def apply(name: str, *arguments: Array) -> Array:
    """The activation of (x), or of (x, gate) where it is gated.

    Raises:
        EngineError: its line calls what JAX has not.
    """
    try:
        result: Any = ACTIVATIONS[name](_Functions(), *arguments)
    except AttributeError as error:
        reason = (
            f"activation = {name!r}: its line in model/activations.py is not JAX's too: {error}"
        )
        raise EngineError(reason) from error
    return result
