"""Linear layers, norms, dropout and the MLP's activations, as functions of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from cputrain.engines import EngineError
from cputrain.engines.jax_.products import by_rows
from cputrain.engines.jax_.scopes import scope
from cputrain.experiment.activations import ACTIVATIONS

EPS = 1e-5
"""Added to the variance (GPT-2's)."""

Parameters = dict[str, Array]


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """x [rows, in] @ weight [out, in].T + bias -> [rows, out], of the type of x."""
    y = by_rows(x, weight.astype(x.dtype))
    return y if bias is None else y + bias.astype(x.dtype)


def norm(x: Array, weight: Array, bias: Array) -> Array:
    """LayerNorm over the last axis (Ba et al. 2016), computed in float32, of the type of x."""
    with scope("elementwise"):
        return _normed(x, weight, bias)


def _normed(x: Array, weight: Array, bias: Array) -> Array:
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(axis=-1, keepdims=True)
    variance = jnp.square(centred).mean(axis=-1, keepdims=True)
    normed = centred * lax.rsqrt(variance + EPS)
    return (normed * weight.astype(jnp.float32) + bias.astype(jnp.float32)).astype(x.dtype)


def drop(x: Array, share: float, key: Array | None) -> Array:
    """x with `share` of it dropped and the rest scaled up; x itself without a key."""
    if key is None or not share:
        return x
    return x * factors(key, x.shape, share).astype(x.dtype)


def factors(key: Array, shape: tuple[int, ...], share: float) -> Array:
    """0 for `share` of the places, 1 / (1 - share) for the others, float32."""
    bits = jax.random.bits(key, shape, jnp.uint32)
    return jnp.where(bits >= jnp.uint32(round(share * 2**32)), 1 / (1 - share), 0.0)


class _Functions:
    """torch.nn.functional's names and defaults, as `experiment.activations` calls them.

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


def activation(name: str, *arguments: Array) -> Array:
    """The activation of (x), or of (x, gate) where it is gated.

    Raises:
        EngineError: its line calls what JAX has not.
    """
    try:
        result: Any = ACTIVATIONS[name](_Functions(), *arguments)
    except AttributeError as error:
        raise EngineError(
            f"activation = {name!r}: its line in experiment.activations is not JAX's too: {error}"
        ) from error
    return result
