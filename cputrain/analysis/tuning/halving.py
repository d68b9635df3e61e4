"""Who goes on in a race, and who has won it: successive halving over rotations.

In a rotation each candidate and the reference train one block. A candidate's ratio is its step's
time over the reference's in the same rotation, so that what the machine does meanwhile cancels.
After so many rotations (`RUNGS`) whoever is surely slower than the fastest goes, and whoever is
surely not worth a change (Maron & Moore 1994, "Hoeffding Races", NeurIPS); where the time is short,
so does the slower half (Karnin, Koren & Somekh 2013, "Almost Optimal Exploration in Multi-Armed
Bandits", ICML). A race is short: what it leaves open is told by
rounds in which everything varies at once (`additive`). What it says is for choosing alone: the
winner is put to a test of its own.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis.paired.model import MEDIAN_VARIANCE

FAR = math.log(1.5)
"""A candidate surely slower than this is ended at once, by its first block too."""
USUAL = (0.05, 6)
"""Noise of one ratio, as a standard deviation of logarithms, and how many ratios that is worth:
pairs of blocks scattered by 2 to 14 % on shared hosts."""
QUARTILE = 1.4826
"""Standard deviation of a normal distribution over its median distance from the mean."""
LEVEL = 0.90
"""Of the interval of a candidate's ratio."""
BY_CHANCE = 0.02
"""Of races in which nothing differs, how many may have a winner at one look at them."""
NEEDED = 0.01
"""How often a change that gives nothing may pass for one that is needed, had its race not chosen
it; of those that won a race by chance it is about one in six."""
FEWEST = 2
"""Blocks of a winner at least, and of any race: one may be a burst."""
OF_WORKERS = 0.01
"""Standard deviation, of logarithms, of what two workers of one experiment differ by as long as
they live: 0.7 to 1.0 % of torch."""
WORTH = 0.01
"""A change that gives less than this is not worth a change."""
WORTH_MORE = 0.03
"""A candidate that looks faster by this is worth more blocks than its race has time for."""
RUNGS = (2, 4, 8)
"""After how many rotations candidates go; the last is the end of a race."""


@dataclass(frozen=True)
class Standing:
    """What is known of a candidate: log ratios, by their median and its 90 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class RaceEvidence:
    """Log ratios of a race, and the noise of one (`noise`)."""

    log_ratios: Sequence[float]
    noise: float

    @property
    def median(self) -> float:
        """Of the log ratios."""
        return statistics.median(self.log_ratios)

    @property
    def variance(self) -> float:
        """Of their median, and of the two workers.

        The median of few is nearer to the truth than `MEDIAN_VARIANCE` over their number says: of
        one it has the variance of a ratio, of three 0.44 of that (exactly 0.449).
        """
        worth = len(self.log_ratios) + MEDIAN_VARIANCE - 1
        return self.noise**2 * MEDIAN_VARIANCE / worth + OF_WORKERS**2


def noise(ratios: Sequence[Sequence[float]]) -> float:
    """Standard deviation of one log ratio, learned from all candidates' together.

    By distances from their mean: one of three ratios is their median itself, and the middle one of
    the distances from that is 0.59 of what it should be (0.82 of four or five).
    """
    usual, worth = USUAL
    off = [
        abs(ratio - statistics.fmean(own)) * math.sqrt(len(own) / (len(own) - 1))
        for own in ratios
        if len(own) > 1
        for ratio in own
    ]
    if not off:
        return usual
    here = QUARTILE * statistics.median(off)
    return math.sqrt((worth * usual**2 + len(off) * here**2) / (worth + len(off)))


def standing(log_ratios: Sequence[float], noise_: float, tail: float = (1 - LEVEL) / 2) -> Standing:
    """What some ratios say.

    Args:
        log_ratios: one or more.
        noise_: see `noise`.
        tail: how often the truth lies below the interval, and how often above.
    """
    value = statistics.median(log_ratios)
    errors = statistics.NormalDist().inv_cdf(1 - tail)
    error = errors * math.sqrt(RaceEvidence(log_ratios, noise_).variance)
    return Standing(value, value - error, value + error)


def is_slower(log_ratios: Sequence[float], than: Sequence[float], noise_: float) -> bool:
    """Whether a candidate is surely slower than another of the same rotations (one-sided, 5 %).

    Both are ratios to the same blocks of the reference, so their difference has the noise of one.
    """
    gap = statistics.median(log_ratios) - statistics.median(than)
    variance = RaceEvidence(min(log_ratios, than, key=len), noise_).variance
    return gap > statistics.NormalDist().inv_cdf((1 + LEVEL) / 2) * math.sqrt(variance)


def dropped(
    ratios: Mapping[int, Sequence[float]], noise_: float, rung: int | None, is_short: bool = False
) -> dict[int, str]:
    """Who goes after a rotation, each with the reason.

    Args:
        ratios: of the candidates still in the race, by their place.
        noise_: see `noise`.
        rung: the number of the rung that they have come to, from 0; None between two.
        is_short: the time has no room for all of them to the end.
    """
    known = {place: standing(own, noise_) for place, own in ratios.items()}
    going = {place: "far slower" for place, each in known.items() if each.low > FAR}
    if rung is None or not known:
        return going
    fastest = ratios[min(known, key=lambda place: known[place].value)]
    for place, each in known.items():
        if is_slower(ratios[place], fastest, noise_):
            going.setdefault(place, "surely slower than the fastest")
        elif each.low > -WORTH:
            going.setdefault(place, f"surely not {100 * WORTH:.0f} % faster")
    left = sorted((p for p in known if p not in going), key=lambda p: known[p].value)
    if is_short and len(left) > 1:
        for place in left[math.ceil(len(left) / 2) :]:
            going[place] = "in the slower half"
    return going


def is_needed(won: RaceEvidence, without: RaceEvidence) -> bool:
    """Whether a change makes settings surely faster, by both races that tell.

    Each estimates what it gives, and counts by the inverse of its variance: a race without it that
    had time for two blocks does not outweigh one that told it to be faster in sixteen.

    Args:
        won: of the race that it won, over the settings before it.
        without: of the settings without it, over those with it.
    """
    gains = [(-won.median, won.variance), (without.median, without.variance)]
    gain, deviation = pooled(gains)
    return gain > statistics.NormalDist().inv_cdf(1 - NEEDED) * deviation


def pooled(told: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """One value that several tell, each with its variance, and its standard deviation."""
    weight = sum(1 / variance for _, variance in told)
    return sum(value / variance for value, variance in told) / weight, 1 / math.sqrt(weight)


def winner(ratios: Mapping[int, Sequence[float]], noise_: float, started: int) -> int | None:
    """The fastest of those that ran to the end, if it is faster than the reference.

    The fastest of several is partly so by chance, so the more there were the surer it has to be
    (Bonferroni).

    Args:
        ratios, noise_: as for `dropped`.
        started: candidates that took a block.
    """
    tail = BY_CHANCE / max(1, started)
    enough = {place: own for place, own in ratios.items() if len(own) >= FEWEST}
    known = {place: standing(own, noise_, tail) for place, own in enough.items()}
    if not known:
        return None
    best = min(known, key=lambda place: known[place].value)
    is_faster = known[best].high < 0 and known[best].value < -WORTH
    return best if is_faster else None
