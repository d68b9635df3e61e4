"""Which cells get another pass: by how exact their effects are, never by what they say."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cputrain.analysis.paired.effect import Effect
from cputrain.analysis.paired.forecast import MOST_PASSES, further_passes
from cputrain.analysis.paired.model import MEDIAN_VARIANCE
from cputrain.analysis.paired.noise import EngineNoise

PRECISION = 0.02
"""Half width, of logarithms, that an effect near 1 is asked to have."""
PROPORTION = 0.15
"""Half width over |log effect| that a large effect is asked to have: two passes that agree give
0.11, by what passes of a large effect differ by (`model.OF_EFFECT`)."""

FEWEST_PAIRS, MOST_PAIRS = 8, 40
"""Of a pass: fewer leave the noise of blocks to guesses, more do not make up for a new worker."""

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
    """

    key: Key
    effect: Effect
    noise: EngineNoise | None
    seconds: float
    suite: str | None = None


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


def passes_to_close(
    effect: Effect, noise: EngineNoise | None, precision: float = PRECISION
) -> int | None:
    """About how many more passes close a cell.

    Returns:
        0 where it is closed; None without an interval, or where it takes more than
        `forecast.MOST_PASSES`.
    """
    width = effect.half_width
    if noise is None or width is None:
        return None
    if is_closed(effect, noise, precision):
        return 0
    passes = further_passes(effect.passes, width / target(effect, precision))
    # A single pass that is narrow enough, and less so than the worst A/A pass, needs one more.
    return None if passes is None else max(1, passes)


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


def next_pass(
    cells: Sequence[Candidate[Key]],
    budget_s: float,
    precision: float = PRECISION,
    suite_s: float = 0.0,
) -> list[Key]:
    """The cells of the next pass, those first that are closed by the fewest seconds.

    So a pass closes as many cells as it can. Cells that no forecast closes come last, as if each
    took one pass more than is forecast. A cell that does not fit leaves its place to cheaper ones;
    one whose engine's noise is not known gets no pass, as none would tell.

    Args:
        cells: all that ran; closed ones are passed over.
        budget_s: seconds that the pass may take in all.
        precision: see `PRECISION`.
        suite_s: seconds of the budget that each suite of the pass takes beside its cells.
    """
    costs = [(passes_to_close(cell.effect, cell.noise, precision), cell) for cell in cells]
    still_open = [
        (passes is None, (passes or MOST_PASSES + 1) * cell.seconds, cell)
        for passes, cell in costs
        if passes != 0 and cell.noise is not None
    ]
    chosen: list[Key] = []
    suites: set[str | None] = {None}
    left_s = budget_s
    for _, _, cell in sorted(still_open, key=lambda cost: cost[:2]):
        takes_s = cell.seconds + (0.0 if cell.suite in suites else suite_s)
        if takes_s <= left_s:
            chosen.append(cell.key)
            suites.add(cell.suite)
            left_s -= takes_s
    return chosen
