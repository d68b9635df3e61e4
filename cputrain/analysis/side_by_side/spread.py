"""How far workers of one experiment lie apart, learned from all cells of a session together.

Two workers of a cell say little about their spread, and cells differ: some settings are
noisier than others. So the spread of each group of like workers, sigma_g on the log scale,
is drawn from a hierarchical model: sigma_g^2 = d0 s0^2 / chi^2(d0), as in Smyth (2004,
Stat. Appl. Genet. Mol. Biol. 3:3), with s0 and d0 themselves drawn from their posterior
on a grid (flat in log s0 and log d0) instead of one best estimate. A group that has seen
many workers goes by its own spread, one with a single worker by the others'.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

TYPICAL = np.geomspace(1e-4, 1.0, 161)
"""Spreads s0 that are thought possible: from 0.01 % to a factor e."""
LIKENESS = np.geomspace(2.0, 256.0, 29)
"""Degrees of freedom d0: small where groups differ much in their spread."""
FEWEST = 2
"""Degrees of freedom, over all groups, below which spreads are anybody's guess."""
SMALLEST = 1e-5
"""Medians that agree better than this are taken to be this far apart: clocks are discrete."""


def squares(log_step_s: Sequence[float]) -> tuple[int, float]:
    """Degrees of freedom and sum of squares about the mean of a group's workers."""
    about = np.asarray(log_step_s) - np.mean(log_step_s)
    degrees = len(log_step_s) - 1
    return degrees, max(float(about @ about), degrees * SMALLEST**2)


def draw(
    groups: Mapping[Hashable, Sequence[float]], draws: int, rng: np.random.Generator
) -> dict[Hashable, Array] | None:
    """Draws of each group's worker-to-worker standard deviation, or None where too little tells.

    Args:
        groups: the log step time of each worker, by group of like workers.
        draws: how many; draw i of all groups has the same s0 and d0.
        rng: the source of chance.
    """
    seen = {name: squares(values) for name, values in groups.items()}
    telling = [(degrees, total) for degrees, total in seen.values() if degrees > 0]
    if sum(degrees for degrees, _ in telling) < FEWEST:
        return None
    log_likelihood = sum(_log_density(degrees, total) for degrees, total in telling)
    weights = np.exp(log_likelihood - np.max(log_likelihood)).ravel()
    picked = rng.choice(weights.size, size=draws, p=weights / weights.sum())
    s0 = TYPICAL[picked // LIKENESS.size]
    d0 = LIKENESS[picked % LIKENESS.size]
    return {
        name: np.sqrt((d0 * s0**2 + total) / rng.chisquare(d0 + degrees))
        for name, (degrees, total) in seen.items()
    }


def _log_density(degrees: int, total: float) -> Array:
    """Log density of a group's variance on the grid: variance / s0^2 has an F(degrees, d0)."""
    d0 = LIKENESS[None, :]
    x = total / degrees / TYPICAL[:, None] ** 2
    constant = np.array(
        [
            math.lgamma((degrees + d) / 2) - math.lgamma(degrees / 2) - math.lgamma(d / 2)
            for d in LIKENESS
        ]
    )
    # The variance itself is fixed, so terms in x and s0 alone keep their Jacobian: 1 / s0^2 ~ x.
    log_f = constant + degrees / 2 * np.log(degrees / d0) + (degrees / 2) * np.log(x)
    log_f = log_f - (degrees + d0) / 2 * np.log1p(degrees * x / d0)
    return np.asarray(log_f, dtype=np.float64)
