"""The best of a grid, each tested against tune's choice, in plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.analysis.tuning.gain import Gain
from cputrain.report import words
from cputrain.wording import counted
from tests.live.grid_draw import Combination


@dataclass(frozen=True)
class Rival:
    """One of the best of the grid.

    Attributes:
        gain: tune's choice over it; None where there is no pair that counts, or a pass failed.
        why_not: the reason then.
    """

    cell: Combination
    gain: Gain | None
    why_not: str = ""

    @property
    def word(self) -> str:
        """Whether tune's choice is within 3 % of it: "yes" by a one-sided test at 5 %."""
        effect = None if self.gain is None else self.gain.effect
        if effect is None or effect.low_90 is None or effect.high_90 is None:
            return "not told"
        if effect.high_90 < SAME_WITHIN:
            return "yes"
        return "no" if effect.low_90 > SAME_WITHIN else "not told"


def outcome(rivals: Sequence[Rival]) -> list[str]:
    """Tune's choice over each of the best, and over the best of them."""
    lines = [
        f"tune's choice over best {number}: {_in_words(rival)}; {rival.cell.label}"
        for number, rival in enumerate(rivals, start=1)
    ]
    return [*lines, *_over_best(rivals)]


def _in_words(rival: Rival) -> str:
    if rival.gain is None:
        return f"no ratio: {rival.why_not}"
    effect = rival.gain.effect
    passes, pairs = counted(effect.passes, "pass", "passes"), counted(effect.pairs, "pair")
    ratio = words.ratio(effect.value, effect.low, effect.high)
    ninety = words.ratio(effect.value, effect.low_90, effect.high_90)
    return f"{ratio} (99 %; 90 %: {ninety}; {passes}, {pairs}), within 3 %: {rival.word}"


def _over_best(rivals: Sequence[Rival]) -> list[str]:
    told = [(rival.gain.effect.value, rival) for rival in rivals if rival.gain is not None]
    if not told:
        return ["tune's choice over the best of the grid: no ratio"]
    value, best = max(told, key=lambda each: each[0])
    lines = [f"tune's choice over the best of the grid: {_in_words(best)}; {best.cell.label}"]
    if value < 1:
        lines = [f"tune's choice was faster than each of them; over the nearest: {_in_words(best)}"]
    told_words = {rival.word for rival in rivals}
    word = "no" if "no" in told_words else "yes" if told_words == {"yes"} else "not told"
    return [*lines, f"within 3 % of each of the best {len(rivals)}: {word}"]
