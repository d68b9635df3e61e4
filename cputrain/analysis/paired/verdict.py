"""What is said of an effect: faster, slower, same, or not told."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from cputrain.analysis.paired.effect import Effect
from cputrain.analysis.paired.forecast import FEWEST_PAIRS, passes_until
from cputrain.analysis.paired.noise import EngineNoise

SAME_WITHIN = 1.03
"""Ratios between 1 / 1.03 and 1.03 are the same time: who tunes a training run does not change a
setting for less, and a machine, a compiler or a memory layout moves a step time by as much."""
ONE_PAIR_TELLS = 3.0
"""By a single pair only what is beyond this ratio is told: blocks of one step took twice as
long as others of the same worker, and another cell was 1.8x by one pair and 1.0x in other sweeps
(docs/figures/turns.md)."""

Word = Literal["faster", "slower", "same", "not told"]


@dataclass(frozen=True)
class Verdict:
    """What is said of an effect.

    Attributes:
        word: what is said.
        further_passes: about how many more passes "not told" needs; None for other words, and
            where it cannot be told: more than `forecast.MOST_PASSES`.
    """

    word: Word
    further_passes: int | None = None


def verdict(
    effect: Effect, noise: EngineNoise | None, further_pairs: int = FEWEST_PAIRS
) -> Verdict:
    """What is said of an effect.

    - "same": the 90 % interval lies within `SAME_WITHIN`, which is two one-sided tests at 5 %
      (Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach",
      J. Pharmacokinet. Biopharm. 15). It goes before the next: an effect that is surely there and
      surely below 3 % is the same time.
    - "faster", "slower": the 99 % interval does not hold 1. From a single pass only where the
      effect is also beyond the worst A/A pass: what a worker of that engine has been off by
      without any cause, this one may be too.
    - "not told" else, and by a single pair of which the 99 % interval is not beyond
      `ONE_PAIR_TELLS`: noise has longer tails than the model gives it.

    Args:
        effect: from `effect.effect`.
        noise: that it was made with.
        further_pairs: that count, of each further pass.
    """
    if noise is None or effect.low is None or effect.high is None:
        return Verdict("not told")
    if effect.is_of_one_pair and not is_beyond(ONE_PAIR_TELLS, effect):
        return Verdict("not told", _further_passes(effect, noise, further_pairs))
    if is_same(effect):
        return Verdict("same")
    beyond = effect.passes > 1 or abs(math.log(effect.value)) > noise.worst
    if effect.high < 1 and beyond:
        return Verdict("faster")
    if effect.low > 1 and beyond:
        return Verdict("slower")
    return Verdict("not told", _further_passes(effect, noise, further_pairs))


def off_by(effect: Effect) -> float:
    """Ratio that an effect may be off by, both ways, beyond its interval: 1 but for one pair."""
    return ONE_PAIR_TELLS if effect.is_of_one_pair else 1.0


def widened(effect: Effect, noise: EngineNoise | None, off_by: float) -> Effect:
    """An effect with all in its interval that it may be off by, as verdicts take it.

    Args:
        noise: from a single pass, what the worst A/A pass was off by: what a worker of that engine
            has been off by without any cause, this worker may be too (`verdict`).
        off_by: ratio that it may be off by for another doubt (`CellEffect.off_by`).
    """
    if noise is None or effect.low is None or effect.high is None:
        return effect
    worst = math.exp(noise.worst) if effect.passes == 1 else 1.0
    return replace(
        effect,
        low=min(effect.low / off_by, effect.value / worst),
        high=max(effect.high * off_by, effect.value * worst),
    )


def is_beyond(ratio: float, effect: Effect) -> bool:
    """Whether the whole interval is further from 1 than this ratio; False without one."""
    if effect.low is None or effect.high is None:
        return False
    return effect.low > ratio or effect.high < 1 / ratio


def is_same(effect: Effect) -> bool:
    """Whether the 90 % interval lies within `SAME_WITHIN`; False without an interval."""
    return effect.same_within is not None and effect.same_within < SAME_WITHIN


def _further_passes(effect: Effect, noise: EngineNoise, pairs: int) -> int | None:
    """About how many more passes tell, if the effect is what it seems: by either verdict."""
    size = abs(math.log(effect.value))
    half, half_90 = effect.half_width, effect.half_width_90
    if half is None or half_90 is None:
        return None
    room = math.log(SAME_WITHIN) - size
    narrower = min(half / size if size else math.inf, half_90 / room if room > 0 else math.inf)
    passes = passes_until(effect, noise, narrower, pairs)
    # A single pass that tells enough by itself, and lies within the worst A/A pass, needs one more.
    return None if passes is None else max(1, passes)
