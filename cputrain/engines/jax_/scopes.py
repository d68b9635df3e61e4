"""Names of the parts of a step in the paths of XLA's operations; they cost nothing when it runs."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager

import jax

PREFIX = "part-"
NAMED = re.compile(rf"{PREFIX}([a-z]+)")


def scope(part: str) -> AbstractContextManager[None]:
    """Operations made inside are of this part (`model.parts`), as are their gradients'."""
    manager: AbstractContextManager[None] = jax.named_scope(f"{PREFIX}{part}")
    return manager


def part_of(op_name: str) -> str | None:
    """The outermost part in the path of an operation; None where it has none."""
    match = NAMED.search(op_name)
    return match[1] if match else None
