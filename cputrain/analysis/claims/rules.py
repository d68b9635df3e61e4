"""How a verdict follows from intervals: a band that a quantity lies in, and rules of rules.

A quantity whose interval lies wholly in the band makes a claim hold, one whose interval lies
wholly outside makes it not hold. Any other tells nothing, with about how many more passes would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

from cputrain.analysis.claims.evidence import CannotTell, ClaimEvidence, MeasuredQuantity
from cputrain.analysis.paired.forecast import further_passes

Word = Literal["holds", "does not hold", "cannot be told here"]
HOLDS: Word = "holds"
NOT: Word = "does not hold"
UNTOLD: Word = "cannot be told here"


class Quantity(Protocol):
    """What a rule asks for.

    Attributes:
        label: what it is, for people.
        unit: "x" (a ratio), "share", "s" or "" (a plain number).
        pairs: names of the pairs that it comes from.
    """

    @property
    def label(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def pairs(self) -> tuple[str, ...]: ...

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """Its value. Raises CannotTell."""


@dataclass(frozen=True)
class Decision:
    """What a rule says.

    Attributes:
        word: the verdict.
        quantity: what decided; None where nothing did.
        measured: its value; None for the reason in `reason`.
        reason: why it cannot be told, or which of several sources holds.
        further_passes: about how many more tell, where that is forecast.
        pairs: names of those that another pass is to measure.
    """

    word: Word
    quantity: Quantity | None = None
    measured: MeasuredQuantity | None = None
    reason: str | None = None
    further_passes: int | None = None
    pairs: tuple[str, ...] = ()


class Rule(Protocol):
    """Decides a claim."""

    def decide(self, evidence: ClaimEvidence) -> Decision:
        """The verdict."""

    def words(self) -> str:
        """When the claim holds, for people."""

    def quantities(self) -> tuple[Quantity, ...]:
        """What it asks for, in order."""


@dataclass(frozen=True)
class Within:
    """A quantity lies in a band.

    Attributes:
        low, high: ends of the band; infinite where it has none.
    """

    quantity: Quantity
    low: float = -math.inf
    high: float = math.inf

    def decide(self, evidence: ClaimEvidence) -> Decision:
        """By where the interval lies."""
        try:
            measured = self.quantity.of(evidence)
        except CannotTell as why:
            more, pairs = why.further_passes, self.quantity.pairs
            return Decision(UNTOLD, self.quantity, None, str(why), more, pairs)
        if measured.low is None or measured.high is None:
            return Decision(
                UNTOLD, self.quantity, measured, "no interval", pairs=self.quantity.pairs
            )
        if self.low < measured.low and measured.high < self.high:
            return Decision(HOLDS, self.quantity, measured)
        if measured.high < self.low or self.high < measured.low:
            return Decision(NOT, self.quantity, measured)
        more, pairs = self._further(measured), self.quantity.pairs
        if measured.passes and (doubts := evidence.doubts(pairs)):
            # Another pass ends a doubt, however wide it makes the interval.
            return Decision(UNTOLD, self.quantity, measured, "; ".join(doubts), 1, pairs)
        reason = "its interval reaches over an end of what the rule allows"
        return Decision(UNTOLD, self.quantity, measured, reason, more, pairs)

    def _further(self, measured: MeasuredQuantity) -> int | None:
        """About how many more passes, if the value is what it seems."""
        assert measured.low is not None and measured.high is not None
        if not measured.passes:
            return None
        # The end that the interval holds, on the side where it reaches over it.
        over = [
            (measured.value - measured.low) / (measured.value - end)
            if end < measured.value
            else (measured.high - measured.value) / (end - measured.value)
            for end in (self.low, self.high)
            if math.isfinite(end) and end != measured.value
        ]
        more = further_passes(measured.passes, max(over, default=math.inf))
        return None if more is None else max(1, more)

    def words(self) -> str:
        """ "speed-up between 3.2 and 5"."""
        if math.isinf(self.low):
            return f"{self.quantity.label} below {self._end(self.high)}"
        if math.isinf(self.high):
            return f"{self.quantity.label} above {self._end(self.low)}"
        return f"{self.quantity.label} between {self._end(self.low)} and {self._end(self.high)}"

    def _end(self, end: float) -> str:
        if self.quantity.unit == "share":
            return f"{100 * end:.3g} %"
        return f"{end:.3g} s" if self.quantity.unit == "s" else f"{end:.3g}"

    def quantities(self) -> tuple[Quantity, ...]:
        """Its quantity."""
        return (self.quantity,)


def near(quantity: Quantity, factor: float, within: float) -> Within:
    """The quantity is the factor, give or take another factor."""
    return Within(quantity, factor / within, factor * within)
