"""Gradients of a pass, copied when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cputrain.engines.torch_ import precision


class Gradients(Mapping[str, np.ndarray]):
    """By name, a float32 copy of each: all at once would take as much memory as they do.

    Args:
        tensors: as the backward pass left them.
    """

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> np.ndarray:
        return precision.to_numpy(self._tensors[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)
