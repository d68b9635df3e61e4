"""What rules ask for, from the effects and workers of pairs.

Ends of intervals are carried through as they are: a quantity of two effects has an interval that is
somewhat too wide, never too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.claims.claim import ClaimPair
from cputrain.analysis.claims.combined import AllOf
from cputrain.analysis.claims.evidence import CannotTell, ClaimEvidence, MeasuredQuantity
from cputrain.analysis.claims.rules import Within
from cputrain.analysis.paired.effect import Effect


@dataclass(frozen=True)
class OfPair:
    """A time of one pair over its reference's."""

    pair: ClaimPair
    unit: str = "x"

    @property
    def label(self) -> str:
        """What over what."""
        return f"time of {self.pair.change} over {self.pair.beside}"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The pair's."""
        return (self.pair.name,)


@dataclass(frozen=True)
class Time(OfPair):
    """Time of a step over the reference's."""

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """The effect. Raises CannotTell."""
        return _measured(evidence.effect(self.pair.name))


@dataclass(frozen=True)
class Speedup:
    """How many times as fast as the reference: by steps, or by tokens."""

    pair: ClaimPair
    by_tokens: bool = False
    unit: str = "x"

    @property
    def label(self) -> str:
        """What over what."""
        what = "tokens/s" if self.by_tokens else "speed"
        return f"{what} of {self.pair.change} over {self.pair.beside}"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The pair's."""
        return (self.pair.name,)

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """1 / effect, times the tokens of a step over the reference's. Raises CannotTell."""
        own, other = self.pair.experiment.training, self.pair.reference.training
        more = own.tokens_per_step / other.tokens_per_step if self.by_tokens else 1.0
        effect = _measured(evidence.effect(self.pair.name))
        low = None if effect.high is None else more / effect.high
        high = None if effect.low is None else more / effect.low
        return MeasuredQuantity(more / effect.value, low, high, effect.passes)


@dataclass(frozen=True)
class Against:
    """Time of one pair's experiment over another's, both beside the same reference."""

    pair: ClaimPair
    other: ClaimPair
    unit: str = "x"

    @property
    def label(self) -> str:
        """What over what."""
        return f"time of {self.pair.change} over {self.other.change}"

    @property
    def pairs(self) -> tuple[str, ...]:
        """Both."""
        return self.pair.name, self.other.name

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """The effects' ratio. Raises CannotTell."""
        own = _measured(evidence.effect(self.pair.name))
        other = _measured(evidence.effect(self.other.name))
        known = None not in (own.low, own.high, other.low, other.high)
        low = own.low / other.high if known else None  # type: ignore[operator]
        high = own.high / other.low if known else None  # type: ignore[operator]
        passes = min(own.passes, other.passes)
        return MeasuredQuantity(own.value / other.value, low, high, passes)


@dataclass(frozen=True)
class AlteredTime:
    """Time of what no setting has over the reference's, from `worker.altered`."""

    name: str
    label: str
    unit: str = "x"
    pairs: tuple[str, ...] = ()

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """The effect. Raises CannotTell."""
        return _measured(evidence.altered_effect(self.name))


@dataclass(frozen=True)
class OverTwoThreads(OfPair):
    """Time with all cores over that with two threads, where there are more than two cores."""

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """The effect. Raises CannotTell."""
        cores = evidence.workers(self.pair.name)[-1].place.physical_cores
        if cores <= 2:
            raise CannotTell(f"this machine has {cores} cores, and no more than 2 threads use them")
        return _measured(evidence.effect(self.pair.name))


@dataclass(frozen=True)
class StepPart:
    """Share of a step that what a pair's experiment leaves out would take in whole.

    A part s of the step, of which the experiment leaves `left`, makes the effect 1 - s (1 - left).
    A share lies between 0 and 1, and so do the ends of its interval, whatever the noise.
    """

    pair: ClaimPair
    label: str
    left: float
    unit: str = "share"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The pair's."""
        return (self.pair.name,)

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """(1 - effect) / (1 - left). Raises CannotTell."""
        effect = _measured(evidence.effect(self.pair.name))
        low, high = (None if e is None else self._part(e) for e in (effect.high, effect.low))
        return MeasuredQuantity(self._part(effect.value), low, high, effect.passes)

    def _part(self, effect: float) -> float:
        return min(1.0, max(0.0, (1 - effect) / (1 - self.left)))


def fastest(pair: ClaimPair, others: Sequence[ClaimPair]) -> AllOf:
    """The rule that a pair's experiment takes less time than its reference and all others do."""
    beaten = [Within(Against(pair, other), high=1.0) for other in others]
    return AllOf((Within(Time(pair), high=1.0), *beaten))


def _measured(effect: Effect) -> MeasuredQuantity:
    return MeasuredQuantity(effect.value, effect.low, effect.high, effect.passes)
