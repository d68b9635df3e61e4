"""How far a machine's speed at one moment is from its usual speed, as its references tell.

The drift of two machines cannot be paired away, as that of two workers on one machine is: what is
left is to say how large it is. A moment is the median step of a reference's blocks beside a cell.
`analysis.drift` asks of such moments how a while differs from the minute before it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cputrain.analysis.drift import FEWEST, MINUTE_S, Moments

MOST_ALIKE = 0.95
"""Correlation of neighbouring minutes above which none is told."""


@dataclass(frozen=True)
class Wander:
    """One reference's.

    Attributes:
        log_sd: standard deviation of the logarithm of a moment's step time.
        independent: how many moments that do not hang together tell as much as all do; log_sd has
            one degree of freedom less.
        moments, sessions: how many there are.
        recorded_s: seconds of all sessions.
    """

    log_sd: float
    independent: float
    moments: int
    sessions: int
    recorded_s: float

    @property
    def degrees(self) -> float:
        """Of freedom of `log_sd`, one at least."""
        return max(1.0, self.independent - 1)

    @property
    def mean_variance(self) -> float:
        """Of the mean over all moments, in squares of logarithms."""
        return self.log_sd**2 / self.independent


def learned(by_session: Mapping[str, Moments]) -> Wander | None:
    """What the moments of one reference tell; None where there are too few.

    All sessions are one series about their common mean: machines whose days differ have moments
    that hang together over long, and so few independent ones. How many is the count over the
    integrated autocorrelation, by the initial positive sequence of Geyer (1992, "Practical Markov
    chain Monte Carlo", Statistical Science 7-4). Of a short run that is too many: no more count
    than minutes that follow on each other tell (`_minutes`).
    """
    series = sorted(point for points in by_session.values() for point in points)
    if len(series) < FEWEST:
        return None
    logs = np.log([seconds for _, seconds in series])
    apart = logs - logs.mean()
    independent = min(len(logs) / _hanging(apart), _minutes(by_session))
    # Of few independent ones the mean lies near them: their squares are too small.
    variance = float(apart @ apart) / len(logs) * independent / max(independent - 1, 1.0)
    spans = [max(at)[0] - min(at)[0] for at in by_session.values() if at]
    return Wander(math.sqrt(variance), independent, len(logs), len(by_session), math.fsum(spans))


def _minutes(by_session: Mapping[str, Moments]) -> float:
    """How many minutes, from each session's first moment on, are independent, one at least.

    As of a series of first order, n (1 - r) / (1 + r), with the correlation r of neighbours freed
    of what n of them lack: (1 + 3 r) / n (Marriott & Pope 1954, "Bias in the estimation of
    autocorrelations", Biometrika 41).
    """
    minutes: dict[tuple[float, int], list[float]] = {}
    for points in by_session.values():
        start = min((at for at, _ in points), default=0.0)
        for at, seconds in points:
            minute = start, int((at - start) / MINUTE_S)
            minutes.setdefault(minute, []).append(math.log(seconds))
    means = np.array([statistics.fmean(minutes[minute]) for minute in sorted(minutes)])
    apart, count = means - means.mean(), len(means)
    total = float(apart @ apart)
    r = float(apart[:-1] @ apart[1:]) / total if total else 0.0
    r = min(max(r + (1 + 3 * r) / count, 0.0), MOST_ALIKE)
    return max(1.0, count * (1 - r) / (1 + r))


def _hanging(apart: Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """How many moments hang together: 1 + 2 x the sum of the autocorrelations."""
    values = np.asarray(apart)
    total = float(values @ values)
    if total == 0:
        return 1.0
    together = -1.0
    for lag in range(0, len(values) - 1, 2):
        pair = sum(float(values[: len(values) - k] @ values[k:]) / total for k in (lag, lag + 1))
        if pair <= 0:
            break
        together += 2 * pair
    return min(max(1.0, together), float(len(values)))
