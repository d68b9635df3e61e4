"""Low-rank additions merged into the layers that they are beside (Hu et al. 2022, sec. 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

ALPHA = 16
"""The addition is scaled by ALPHA / rank, which is 2."""
A, B = ".lora_a", ".lora_b"


def merged(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights without additions: W + b a (ALPHA / rank) in place of W, float32.

    Args:
        weights: by the names of `model.shapes`; without additions they come back as they are.
    """
    whole = {n: array for n, array in weights.items() if not n.endswith((A, B))}
    for name in weights:
        if name.endswith(A):
            layer = name.removesuffix(A)
            a, b = (weights[f"{layer}{kind}"].astype(np.float64) for kind in (A, B))
            added = b @ a * (ALPHA / len(a))
            whole[f"{layer}.weight"] = (whole[f"{layer}.weight"] + added).astype(np.float32)
    return whole


def additions(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The additions alone."""
    return {name: array for name, array in weights.items() if name.endswith((A, B))}
