"""Which cells get another pass: by how exact their effects are, never by what they say."""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cputrain.analysis.paired.effect import Effect
from cputrain.analysis.paired.forecast import FEWEST_PAIRS, MOST_PASSES, width_left
from cputrain.analysis.paired.model import MEDIAN_VARIANCE
from cputrain.analysis.paired.noise import EngineNoise

LEAST_S = 1e-3
"""Seconds that a pass takes at least."""
PRECISION = 0.02
"""Half width, of logarithms, that an effect near 1 is asked to have."""
PROPORTION = 0.15
"""Half width over |log effect| that a large effect is asked to have: two passes that agree give
0.11, by what passes of a large effect differ by (`model.OF_EFFECT`)."""

MOST_PAIRS = 40
"""Of a further pass: more do not make up for a new worker."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Candidate(Generic[Key]):
    """A cell that might get another pass.

    Attributes:
        key: whatever the caller knows it by.
        effect: what is known so far.
        noise: of its engine.
        seconds: that one more pass of it takes, all included.
        suite: that it is measured in; None where nothing is paid for one.
        pairs: of such a pass that count.
    """

    key: Key
    effect: Effect
    noise: EngineNoise | None
    seconds: float
    suite: str | None = None
    pairs: int = FEWEST_PAIRS

    def gain(self, given: int = 0) -> float | None:
        """What one more pass tells in a second: by how much narrower it makes the interval, as a
        logarithm, up to where the cell is closed. None where it is closed.

        Args:
            given: further passes before that one.
        """
        if self.noise is None or self.effect.half_width is None:
            return None
        if given == 0 and is_closed(self.effect, self.noise):
            return None
        closed = target(self.effect)
        now, then = (
            self.effect.half_width * width_left(self.effect, self.noise, more, self.pairs)
            for more in (given, given + 1)
        )
        if given and now <= closed:
            return None
        if self.effect.passes + given == 1:  # the worst A/A pass keeps a single one open
            now = max(now, self.noise.worst)
        return max(math.log(now / max(then, closed)), 0.0) / max(self.seconds, LEAST_S)


def target(effect: Effect, precision: float = PRECISION) -> float:
    """The half width, of logarithms, at which a cell is closed.

    sqrt(precision^2 + (PROPORTION log value)^2): it does not depend on the side of 1, nor on where
    the interval lies, and has no edge that an effect could cross by chance. (Stopping at a width
    keeps an interval's level, stopping at significance does not: Chow & Robbins 1965, "On the
    asymptotic theory of fixed-width sequential confidence intervals", Ann. Math. Stat. 36.)
    """
    return math.hypot(precision, PROPORTION * math.log(effect.value))


def is_closed(effect: Effect, noise: EngineNoise | None, precision: float = PRECISION) -> bool:
    """Whether a cell needs no further pass: its interval is as narrow as its target.

    With a single pass, the worst A/A pass of its engine has to be within the target too: a verdict
    from one pass is refused below it. One pair closes nothing.
    """
    width = effect.half_width
    if noise is None or width is None or effect.is_of_one_pair:
        return False
    if effect.passes == 1:
        width = max(width, noise.worst)
    return width <= target(effect, precision)


def pairs_per_pass(noise: EngineNoise, start_s: float, pair_s: float) -> int:
    """How many pairs of a pass make effects narrow in the least time.

    A pass of n pairs costs start_s + n pair_s and leaves the variance
    worker^2 + MEDIAN_VARIANCE block^2 / n; the product is least at
    n = sqrt(start_s / pair_s * MEDIAN_VARIANCE block^2 / worker^2), the number of repetitions
    within a level by the cost model of Kalibera & Jones 2013 (see `model`).

    Args:
        noise: of the engine.
        start_s: seconds until both workers of a pass are warm.
        pair_s: seconds of a pair.
    """
    pairs = math.sqrt(start_s / pair_s * MEDIAN_VARIANCE) * noise.block / noise.worker
    return min(max(round(pairs), FEWEST_PAIRS), MOST_PAIRS)


def next_pass(cells: Sequence[Candidate[Key]], budget_s: float, suite_s: float = 0.0) -> list[Key]:
    """The cells of the next pass, those first of which a pass tells most for its seconds.

    A cell that does not fit leaves its place to cheaper ones; one whose engine's noise is not known
    gets no pass, as none would tell.

    Args:
        cells: all that ran; closed ones are passed over.
        budget_s: seconds that the pass may take in all.
        suite_s: seconds of the budget that each suite of the pass takes beside its cells.
    """
    gains = [(cell.gain(), cell) for cell in cells]
    still_open = [(gain, cell) for gain, cell in gains if gain is not None]
    chosen: list[Key] = []
    suites: set[str | None] = {None}
    left_s = budget_s
    for _, cell in sorted(still_open, key=lambda each: -each[0]):
        takes_s = cell.seconds + (0.0 if cell.suite in suites else suite_s)
        if takes_s <= left_s:
            chosen.append(cell.key)
            suites.add(cell.suite)
            left_s -= takes_s
    return chosen


def seconds_until(cells: Sequence[Candidate[Key]], passes: Mapping[Key, int]) -> dict[Key, float]:
    """When some cells have had so many passes, in seconds of measuring, all cells being planned.

    Each pass goes to the cell of which it tells most for its seconds, as `next_pass` takes them.

    Args:
        cells: all that ran.
        passes: by the keys of some of them, further passes; 1 or more.

    Returns:
        Of those that are not closed before that, and not given more than `MOST_PASSES`.
    """
    by_key = {cell.key: cell for cell in cells}
    gains = ((cell.gain(), key) for key, cell in by_key.items())
    order = [(-gain, number, key) for number, (gain, key) in enumerate(gains) if gain is not None]
    heapq.heapify(order)
    given, wanted, elapsed_s, until = dict.fromkeys(by_key, 0), dict(passes), 0.0, {}
    while order and wanted:
        _, number, key = heapq.heappop(order)
        given[key] += 1
        elapsed_s += by_key[key].seconds
        if given[key] == wanted.get(key):
            until[key] = elapsed_s
            del wanted[key]
        gain = by_key[key].gain(given[key])
        if gain is not None and given[key] < MOST_PASSES:
            heapq.heappush(order, (-gain, number, key))
        else:
            wanted.pop(key, None)
    return until
