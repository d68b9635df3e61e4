"""How much narrower further passes make an interval."""

from __future__ import annotations

import bisect
import math
from functools import cache

from scipy import special

from cputrain.analysis.paired import model
from cputrain.analysis.paired.effect import LEVEL, Effect
from cputrain.analysis.paired.noise import EngineNoise

FEWEST_PAIRS = 8
"""Of a further pass: fewer leave the noise of blocks to guesses."""
FIRST_PASS = 0.5
"""What the first pass is short of, of what each further one tells: widths go with
1 / sqrt(passes - 1/2). With one pass the scales are known the least, so the second makes an
interval narrower by more than sqrt(2): 1.75 times in simulations, and four passes 2.7 times."""
MOST_PASSES = 99
"""More further passes than this are not forecast: the effect cannot be told here."""


def further_passes(passes: int, narrower: float) -> int | None:
    """About how many more passes, all alike, make an interval `narrower` times as narrow.

    Args:
        passes: so far, 1 or more.
        narrower: width now over width then.

    Returns:
        0 where it is narrow enough, None where that takes more than `MOST_PASSES`.
    """
    needed = FIRST_PASS + (passes - FIRST_PASS) * narrower**2 - passes
    return max(0, math.ceil(needed)) if needed <= MOST_PASSES else None


def width_left(effect: Effect, noise: EngineNoise, more: int, pairs: int) -> float:
    """What is left of an interval's width, as a share, after more passes.

    A pass of n pairs weighs 1 / (worker^2 + MEDIAN_VARIANCE block^2 / n), those so far are taken to
    have as many pairs each, and the tails get shorter (`_tail`). By the cells of two machines that
    ran several times it is off by a factor of 1.13 in the middle (docs/figures/turns.md).

    Args:
        effect: so far.
        noise: of its pairs.
        more: passes.
        pairs: of each of these that count.
    """
    growth = model.OF_EFFECT * abs(math.log(effect.value))
    worker = math.hypot(noise.worker, model.WORKER_SD * growth) ** 2
    block = model.MEDIAN_VARIANCE * noise.block**2
    known = effect.passes / (worker + block * effect.passes / effect.pairs)
    all_passes, all_pairs = effect.passes + more, effect.pairs + more * pairs
    narrower = math.sqrt(1 + more / (worker + block / pairs) / known)
    return _tail(all_passes, all_pairs) / _tail(effect.passes, effect.pairs) / narrower


def passes_until(
    effect: Effect, noise: EngineNoise, narrower: float, pairs: int = FEWEST_PAIRS
) -> int | None:
    """About how many more passes make its interval `narrower` times as narrow.

    Args:
        effect, noise, pairs: as of `width_left`.
        narrower: width now over width then.

    Returns:
        0 where it is narrow enough, None where that takes more than `MOST_PASSES`.
    """
    if narrower <= 1:
        return 0
    counts = range(1, MOST_PASSES + 1)
    place = bisect.bisect_left(
        counts, -1 / narrower, key=lambda n: -width_left(effect, noise, n, pairs)
    )
    return counts[place] if place < len(counts) else None


@cache
def _tail(passes: int, pairs: int) -> float:
    """How far an interval's end lies from the middle, in standard deviations.

    As of a t distribution: a pass counts for five degrees of freedom and one more in all, a single
    pair for four.
    """
    return float(special.stdtrit(min(4 * pairs, 5 * passes + 1), (1 + LEVEL) / 2))
