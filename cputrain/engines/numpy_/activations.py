"""The MLP's activations by hand in NumPy, each with its slope.

Code of its own beside `experiment.activations`, which is torch's: a reference that called the same
functions would show nothing. Results go into arrays that the caller gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy import ndarray

from cputrain.engines import EngineError
from cputrain.engines.numpy_.ops import gelu

Elementwise = Callable[[ndarray, ndarray, ndarray], None]
"""Function of (x, y, slope), all contiguous and of the same size: y = f(x), slope = dy/dx."""

TANH_INNER = math.sqrt(2 / math.pi)
TANH_CUBIC = 0.044715


def gelu_tanh(x: ndarray, y: ndarray, slope: ndarray) -> None:
    """y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 (Hendrycks & Gimpel 2016, sec. 2)."""
    squared = np.square(x)
    half = np.tanh(TANH_INNER * x * (1 + TANH_CUBIC * squared))
    inner_slope = TANH_INNER * (1 + 3 * TANH_CUBIC * squared)
    np.multiply(x * 0.5 * (1 - half * half), inner_slope, out=slope)
    half += 1
    half *= 0.5
    slope += half
    np.multiply(x, half, out=y)


def relu(x: ndarray, y: ndarray, slope: ndarray) -> None:
    """y = max(x, 0); the slope at 0 is 0, as torch's."""
    np.maximum(x, 0, out=y)
    np.copyto(slope, x > 0)


def relu2(x: ndarray, y: ndarray, slope: ndarray) -> None:
    """y = max(x, 0)^2 (So et al. 2021, sec. 4.2)."""
    np.maximum(x, 0, out=slope)
    np.square(slope, out=y)
    slope *= 2


def silu(x: ndarray, y: ndarray, slope: ndarray) -> None:
    """y = x s(x) with s the logistic function, written by tanh, which does not overflow."""
    np.tanh(0.5 * x, out=slope)
    slope *= 0.5
    slope += 0.5
    np.multiply(x, slope, out=y)
    slope += y * (1 - slope)  # s + x s (1 - s)


PLAIN: dict[str, Elementwise] = {
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": relu,
    "silu": silu,
    "relu2": relu2,
}
GATES: dict[str, Elementwise] = {"swiglu": silu}
"""Gated activations: y = f(gate) value (Shazeer 2020); this is f."""


class Activation:
    """One layer's activation; keeps what its backward pass needs.

    Args:
        name: the experiment's `activation`.
        rows: batch x tokens.
        hidden: channels that come out; a gated one takes twice as many, values before gates.
        dtype: of all arrays.

    Raises:
        EngineError: an activation that this engine does not have.
    """

    def __init__(self, name: str, rows: int, hidden: int, dtype: np.dtype) -> None:
        if name not in PLAIN and name not in GATES:
            known = ", ".join([*PLAIN, *GATES])
            raise EngineError(f"activation = {name!r}: the numpy engine has {known} only")
        self._gate = GATES.get(name)
        self._plain = PLAIN.get(name)
        self.after, self._slope = (np.empty((rows, hidden), dtype) for _ in range(2))
        if self._gate:
            self._opened = np.empty((rows, hidden), dtype)
            self._values = np.empty((rows, hidden), dtype)

    def forward(self, before: ndarray) -> ndarray:
        """`after` [rows, hidden] from `before` [rows, hidden], or twice that where gated."""
        if self._plain:
            self._plain(before, self.after, self._slope)
            return self.after
        assert self._gate is not None
        values, gates = np.split(before, 2, axis=1)
        self._values[...] = values
        self._gate(np.ascontiguousarray(gates), self._opened, self._slope)
        np.multiply(values, self._opened, out=self.after)
        return self.after

    def backward(self, dafter: ndarray, dbefore: ndarray) -> None:
        """The gradient of `before` from that of `after`; they may be one array if not gated."""
        if self._plain:
            np.multiply(dafter, self._slope, out=dbefore)
            return
        dvalues, dgates = np.split(dbefore, 2, axis=1)
        np.multiply(dafter, self._opened, out=dvalues)
        np.multiply(dafter, self._values, out=dgates)
        dgates *= self._slope
