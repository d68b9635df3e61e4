"""Effects of several changes from runs in which many of them vary at once.

Two workers beside each other may differ in many changes, so that each of their pairs of blocks
tells of all of these (Fisher 1935, "The Design of Experiments", chapter 6), where a race's tell of
one. The logarithm of their ratio is taken as a sum of effects: a Bayesian linear regression with a
prior of Student's t, so that a large effect is believed where a small one is not (Gelman et al.
2013, "Bayesian Data Analysis", 3rd ed., chapters 14 and 17). Where much varies the errors are such
too: a worker far from what the others say weighs less (Lange, Little & Taylor 1989, "Robust
Statistical Modeling Using the t Distribution", JASA 84). A contrast of one change alone is taken as
it is, as nothing else may say what is wrong with it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FREEDOM = 4
"""Degrees of freedom of prior and errors."""
SINGLE = 2
"""Effects in a contrast of one change: of the level with it, and of the one without."""
ITERATIONS = 30
START = 0.01
"""Weight of the prior at first, so that a large effect is not taken for an error."""


@dataclass(frozen=True)
class Contrast:
    """A log ratio of settings over others.

    Attributes:
        weights: of each effect: 1 where the settings alone have it, -1 where the others do.
        value: the log ratio.
        variance: its own, noise and workers.
    """

    weights: tuple[float, ...]
    value: float
    variance: float


@dataclass(frozen=True)
class Effects:
    """What is known of the effects, as logarithms: a normal distribution.

    Attributes:
        mean: of each.
        covariance: of all.
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def of(self, weights: Sequence[float]) -> tuple[float, float]:
        """Mean and standard deviation of a weighted sum of effects."""
        along = np.asarray(weights)
        return float(along @ self.mean), math.sqrt(max(0.0, float(along @ self.covariance @ along)))

    def chance_below(self, weights: Sequence[float]) -> float:
        """The probability that a weighted sum of effects is below 0."""
        mean, deviation = self.of(weights)
        if deviation == 0.0:
            return 0.5 if mean == 0.0 else float(mean < 0.0)
        return statistics.NormalDist(mean, deviation).cdf(0.0)

    def information(self, weights: Sequence[float], variance: float) -> float:
        """What one more contrast is expected to tell, in nats (Lindley 1956)."""
        return 0.5 * math.log1p(self.of(weights)[1] ** 2 / variance)


def estimate(contrasts: Sequence[Contrast], priors: Sequence[float]) -> Effects:
    """The effects by some contrasts.

    Args:
        contrasts: of as many effects as there are priors.
        priors: of each effect, as a logarithm: about how large it is before anything is known.
    """
    effects, scales = len(priors), np.asarray(priors)
    rows = np.array([each.weights for each in contrasts]).reshape(len(contrasts), effects)
    values = np.array([each.value for each in contrasts])
    variances = np.array([each.variance for each in contrasts])
    worth, small = np.ones(len(contrasts)), np.full(effects, START)
    is_single = np.count_nonzero(rows, axis=1) <= SINGLE
    for _ in range(ITERATIONS):
        weighed = rows.T * (worth / variances)
        covariance = np.linalg.inv(np.diag(small / scales**2) + weighed @ rows)
        mean = covariance @ weighed @ values
        worth = np.where(is_single, 1.0, _worth((values - rows @ mean) ** 2 / variances))
        small = _worth(mean**2 / scales**2)
    return Effects(mean, covariance)


def _worth(squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of squared errors, each over its variance, under Student's t."""
    worth: NDArray[np.float64] = (FREEDOM + 1) / (FREEDOM + squares)
    return worth
