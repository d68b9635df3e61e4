"""The MLP's activations. A line here is all that a new one takes.

Each is written with the functions of torch.nn.functional, which is passed in as `F`: this
file itself imports nothing, so that an experiment's `activation` can be checked against it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "gelu": lambda F, x: F.gelu(x),
    "gelu_tanh": lambda F, x: F.gelu(x, approximate="tanh"),
    "relu": lambda F, x: F.relu(x),
    "silu": lambda F, x: F.silu(x),
    "swiglu": lambda F, x, gate: F.silu(gate) * x,
    "relu2": lambda F, x: F.relu(x) ** 2,
}
"""Name -> function of (F, x), or of (F, x, gate) where it is gated (Shazeer 2020)."""


def is_gated(name: str) -> bool:
    """Whether the activation takes a gate: its first layer then has twice the outputs."""
    return ACTIVATIONS[name].__code__.co_argcount == 3
