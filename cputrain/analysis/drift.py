"""How a machine's speed changes with time, as the default experiment's step at many moments tells.

`analysis.moments` has them from the cells of a machine, `analysis.trained_moments` from what it has
trained for real.
"""

from __future__ import annotations

import bisect
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from scipy import special

MINUTE_S = 60.0
FEWEST = 5
"""Moments of a run from which they tell its drift."""
MORE_THAN_EVENINGS = 2
"""Degrees of freedom are as many as evenings, and so many more at most: what one is like tells
little of another."""
EVENING_S = 3600.0
"""Two moments are of one evening that have no longer break between them."""

Moments = Sequence[tuple[float, float]]
"""Seconds since the epoch, ascending, and seconds of a step."""
Starts = Set[tuple[str, float]]
"""Sessions and moments of them."""


@dataclass(frozen=True)
class Drift:
    """How the mean step time of a while lies to that of the minute before it.

    Attributes:
        log_mean, log_sd: of the logarithms of that ratio.
        degrees: of freedom of log_sd.
        minute_sd: standard deviation of the logarithms of a minute's moments, of the minutes that
            tell it.
        recorded_s: seconds of all sessions that tell it; longest_s: of the longest.
        sessions: how many, those with a ratio that counts; evenings: that they are of
            (`EVENING_S`).
        uneven: how many times as uneven as the records' minutes the minute was that a while is
            foretold from; 1 where it was not more so.
    """

    log_mean: float
    log_sd: float
    degrees: float
    minute_sd: float
    recorded_s: float
    longest_s: float
    sessions: int
    evenings: int
    uneven: float = 1.0

    def after(self, moments: Sequence[float]) -> Drift:
        """The drift after a minute that was more uneven than those of the records, if it was.

        Its own moments tell how much goes on now, the records how much of that lasts: all is wider
        by as much as they are further apart.

        Args:
            moments: of that minute, seconds of a step; with fewer than `FEWEST` nothing is told.
        """
        if len(moments) < FEWEST or not self.minute_sd:
            return self
        uneven = statistics.stdev(map(math.log, moments)) / self.minute_sd
        if uneven <= 1:
            return self
        degrees = min(self.degrees, len(moments) - 1)
        return replace(self, log_sd=self.log_sd * uneven, degrees=degrees, uneven=uneven)

    def interval(self, level: float) -> tuple[float, float]:
        """Low and high end of the ratio: a prediction interval for one more such while.

        Student's t with `degrees`, of the logarithm: log_mean ± t sd sqrt(1 + 1 / n).
        """
        t = float(special.stdtrit(self.degrees, 0.5 + level / 2))
        half = t * self.log_sd * math.sqrt(1 + 1 / (self.degrees + 1))
        return math.exp(self.log_mean - half), math.exp(self.log_mean + half)


def learned(
    by_session: Mapping[str, Moments],
    horizon_s: float,
    starts: Starts | None = None,
    alone: Set[str] = frozenset(),
) -> Drift | None:
    """What the sessions tell of a while of `horizon_s` seconds; None where they tell nothing.

    For every moment of a session the mean of the moments of the minute before it is set against
    the mean of those of the while after it. A while longer than what is left of a session is cut
    off there: what a machine does over hours is not known from minutes, and `longest_s` says how
    far the record reaches. With several sessions their means differ too, and where the while is
    longer than each of them, that difference is added.

    Args:
        by_session: at least `FEWEST` moments of a session tell something.
        horizon_s: of the while.
        starts: moments that whiles are taken from; None takes all.
        alone: sessions whose steps are of other experiments than the others': how their means
            differ tells nothing.
    """
    sessions = {name: points for name, points in by_session.items() if len(points) >= FEWEST}
    ratios = {
        (name, at): ratio
        for name, points in sessions.items()
        for at, ratio in _ratios(points, horizon_s)
    }
    telling = [start for start in ratios if starts is None or start in starts]
    if len(telling) < FEWEST:
        return None
    logs = [ratios[start] for start in telling]
    names = {name for name, _ in telling}
    spans = [sessions[name][-1][0] - sessions[name][0][0] for name in names]
    variance = statistics.variance(logs)
    free = _degrees(list(sessions.values()), horizon_s) * len(logs) / len(ratios)
    evenings = _evenings(sessions.values(), {at for _, at in telling})
    alike = [points for name, points in sessions.items() if name not in alone]
    if len(alike) > 1 and horizon_s > max(spans):
        means = [math.log(statistics.fmean(s for _, s in points)) for points in alike]
        variance += statistics.variance(means)
    return Drift(
        log_mean=statistics.fmean(logs),
        log_sd=math.sqrt(variance),
        degrees=max(1.0, min(MORE_THAN_EVENINGS + evenings, free)),
        minute_sd=_minute_sd(sessions, telling),
        recorded_s=sum(spans),
        longest_s=max(spans),
        sessions=len(names),
        evenings=evenings,
    )


def _evenings(sessions: Iterable[Moments], telling: Set[float]) -> int:
    """How many whiles without a break of `EVENING_S` have one of the moments that tell.

    Args:
        sessions: all of them, whose moments tell where the breaks are.
        telling: moments, seconds since the epoch.
    """
    times = sorted(at for points in sessions for at, _ in points)
    later = itertools.accumulate(b - a > EVENING_S for a, b in itertools.pairwise(times))
    evening_of = dict(zip(times, (0, *later), strict=True))
    return len({evening_of[at] for at in telling})


def _minute_sd(sessions: Mapping[str, Moments], ends: Iterable[tuple[str, float]]) -> float:
    """Of the logarithms of moments about the mean of their minute; 0 where none has two.

    Args:
        ends: session and moment that each minute ends with.
    """
    logs = {name: [math.log(s) for _, s in points] for name, points in sessions.items()}
    squares, free = 0.0, 0
    for name, now in ends:
        begin, end = _minute(sessions[name], now)
        minute = logs[name][begin:end]
        mean = statistics.fmean(minute)
        squares += math.fsum((log - mean) ** 2 for log in minute)
        free += len(minute) - 1
    return math.sqrt(squares / free) if free else 0.0


def _minute(points: Moments, now: float) -> tuple[int, int]:
    """Where the minute that ends with a moment begins in a session, and where it ends."""
    begin, end = (bisect.bisect_right(points, at, key=_at) for at in (now - MINUTE_S, now))
    return begin, end


def _at(point: tuple[float, float]) -> float:
    return point[0]


def _degrees(sessions: Sequence[Moments], horizon_s: float) -> float:
    """Degrees of freedom of the ratios' variance: of the minutes' and of the whiles', as far as
    those are several (Satterthwaite 1946, Biometrics Bulletin 2-6).
    """
    above = below = 0.0
    for length_s in (MINUTE_S, max(horizon_s, MINUTE_S)):
        deviations, groups = _deviations(sessions, length_s)
        if len(deviations) > groups:
            free = len(deviations) - groups
            variance = math.fsum(d * d for d in deviations) / free
            above, below = above + variance, below + variance**2 / free
    return max(1.0, above**2 / below) if below else 1.0


def _deviations(sessions: Sequence[Moments], length_s: float) -> tuple[list[float], int]:
    """Of whiles of that length, from their session's mean, in logarithms; and how many sessions
    have such whiles. The rest at a session's end is left out.
    """
    deviations: list[float] = []
    groups = 0
    for points in sessions:
        start = points[0][0]
        whiles: dict[int, list[float]] = {}
        for at, seconds in points:
            whiles.setdefault(int((at - start) / length_s), []).append(seconds)
        whole = int((points[-1][0] - start) / length_s)
        means = [math.log(statistics.fmean(s)) for n, s in whiles.items() if n < whole]
        if means:
            groups += 1
            deviations += [mean - statistics.fmean(means) for mean in means]
    return deviations, groups


def _ratios(points: Moments, horizon_s: float) -> list[tuple[float, float]]:
    """Of each moment, the logarithm of the while after it over the minute that ends with it."""
    sums = [0.0, *itertools.accumulate(s for _, s in points)]
    logs = []
    for now, _ in points:
        begin, here = _minute(points, now)
        end = bisect.bisect_right(points, now + max(horizon_s, MINUTE_S), key=_at)
        if end > here:
            later = (sums[end] - sums[here]) / (end - here)
            minute = (sums[here] - sums[begin]) / (here - begin)
            logs.append((now, math.log(later / minute)))
    return logs
