"""What rules ask for, from the effects and workers of pairs.

Ends of intervals are carried through as they are: a quantity of two effects has an interval that is
somewhat too wide, never too narrow.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.claims.claim import Pair
from cputrain.analysis.claims.evidence import CannotTell, Evidence, Measured
from cputrain.analysis.claims.rules import AllOf, Within
from cputrain.analysis.paired.effect import Effect
from cputrain.record.sample import Sample


@dataclass(frozen=True)
class Time:
    """Time of a step over the reference's."""

    pair: Pair
    unit: str = "x"

    @property
    def label(self) -> str:
        """What over what."""
        return f"time of {self.pair.change} over {_reference(self.pair)}"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: Evidence) -> Measured:
        """The effect. Raises CannotTell."""
        return _measured(evidence.effect(self.pair.name))


@dataclass(frozen=True)
class Speedup:
    """How many times as fast as the reference: by steps, or by tokens."""

    pair: Pair
    by_tokens: bool = False
    unit: str = "x"

    @property
    def label(self) -> str:
        """What over what."""
        what = "tokens/s" if self.by_tokens else "speed"
        return f"{what} of {self.pair.change} over {_reference(self.pair)}"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: Evidence) -> Measured:
        """1 / effect, times the tokens of a step over the reference's. Raises CannotTell."""
        own, other = self.pair.experiment.training, self.pair.reference.training
        more = own.tokens_per_step / other.tokens_per_step if self.by_tokens else 1.0
        found = _measured(evidence.effect(self.pair.name))
        low = None if found.high is None else more / found.high
        high = None if found.low is None else more / found.low
        return Measured(more / found.value, low, high, found.passes)


@dataclass(frozen=True)
class Against:
    """Time of one pair's experiment over another's, both beside the same reference."""

    pair: Pair
    other: Pair
    unit: str = "x"

    @property
    def label(self) -> str:
        """What over what."""
        return f"time of {self.pair.change} over {self.other.change}"

    @property
    def pairs(self) -> tuple[str, ...]:
        """Both."""
        return self.pair.name, self.other.name

    def of(self, evidence: Evidence) -> Measured:
        """The effects' ratio. Raises CannotTell."""
        own = _measured(evidence.effect(self.pair.name))
        other = _measured(evidence.effect(self.other.name))
        known = None not in (own.low, own.high, other.low, other.high)
        low = own.low / other.high if known else None  # type: ignore[operator]
        high = own.high / other.low if known else None  # type: ignore[operator]
        passes = min(own.passes, other.passes)
        return Measured(own.value / other.value, low, high, passes)


@dataclass(frozen=True)
class AlteredTime:
    """Time of what no setting has over the reference's, from `worker.altered`."""

    name: str
    label: str
    unit: str = "x"
    pairs: tuple[str, ...] = ()

    def of(self, evidence: Evidence) -> Measured:
        """The effect. Raises CannotTell."""
        return _measured(evidence.altered_effect(self.name))


@dataclass(frozen=True)
class OverTwoThreads:
    """Time with all cores over that with two threads, where there are more than two cores."""

    pair: Pair
    unit: str = "x"

    @property
    def label(self) -> str:
        """What over what."""
        return f"time of {self.pair.change} over {_reference(self.pair)}"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: Evidence) -> Measured:
        """The effect. Raises CannotTell."""
        cores = evidence.workers(self.pair.name)[-1].place.physical_cores
        if cores <= 2:
            raise CannotTell(f"this machine has {cores} cores, and no more than 2 threads use them")
        return _measured(evidence.effect(self.pair.name))


@dataclass(frozen=True)
class Part:
    """Share of a step that what a pair's experiment leaves out would take in whole.

    A part s of the step, of which the experiment leaves `left`, makes the effect 1 - s (1 - left).
    """

    pair: Pair
    label: str
    left: float
    unit: str = "share"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: Evidence) -> Measured:
        """(1 - effect) / (1 - left). Raises CannotTell."""
        found = _measured(evidence.effect(self.pair.name))
        low, high = (None if e is None else self._part(e) for e in (found.high, found.low))
        return Measured(self._part(found.value), low, high, found.passes)

    def _part(self, effect: float) -> float:
        return (1 - effect) / (1 - self.left)


@dataclass(frozen=True)
class Waiting:
    """Share of a step that training waits for its loader: of the reference's blocks."""

    pair: Pair
    unit: str = "share"

    @property
    def label(self) -> str:
        """Whose."""
        return f"share of a step of {_reference(self.pair)} spent waiting for data"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: Evidence) -> Measured:
        """The median over blocks, lowest to highest. Raises CannotTell."""
        blocks = [p.reference for w in evidence.workers(self.pair.name) for p in w.pairs]
        return _over([_waited(block) for block in _calm(blocks)], self.pair)


@dataclass(frozen=True)
class Seconds:
    """Seconds that some steps of a pair's experiment take."""

    pair: Pair
    label: str
    steps: int
    unit: str = "s"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: Evidence) -> Measured:
        """Steps x the median over blocks, lowest to highest. Raises CannotTell."""
        samples = [s for w in evidence.workers(self.pair.name) for s in w.samples]
        return _over([self.steps * sample.median_s for sample in _calm(samples)], self.pair)


@dataclass(frozen=True)
class Preparing:
    """Seconds that tokenizing took, over those of an epoch of a pair's experiment."""

    pair: Pair
    unit: str = "share"

    @property
    def label(self) -> str:
        """Of what."""
        return f"tokenizing over an epoch of {self.pair.change}"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: Evidence) -> Measured:
        """The share by every block's step time, lowest to highest. Raises CannotTell."""
        shares = []
        for worker in evidence.workers(self.pair.name):
            data = worker.data
            if data is None or data.prepared_s is None or not data.steps_per_epoch:
                raise CannotTell(f"{self.pair.name}: the record does not say what tokenizing took")
            epochs = [data.steps_per_epoch * block.median_s for block in _calm(worker.samples)]
            shares += [data.prepared_s / epoch_s for epoch_s in epochs]
        return _over(shares, self.pair)


@dataclass(frozen=True)
class Exponent:
    """k of time ~ parameters^k, by least squares through the logarithms."""

    sizes: tuple[Pair, ...]
    unit: str = ""
    label: str = "k of step time ~ parameters^k"

    @property
    def pairs(self) -> tuple[str, ...]:
        """All."""
        return tuple(pair.name for pair in self.sizes)

    def of(self, evidence: Evidence) -> Measured:
        """The slope; its ends by the effects' own. Raises CannotTell."""
        effects = [evidence.effect(pair.name) for pair in self.sizes]
        logs = [self._log_size(pair, evidence) for pair in self.sizes]
        weights = slope_weights(logs)
        value = _slope(weights, [effect.value for effect in effects])
        if any(effect.low is None or effect.high is None for effect in effects):
            return Measured(value, None, None)
        low, high = (
            _slope(weights, [_end(e, (w > 0) == up) for e, w in zip(effects, weights, strict=True)])
            for up in (False, True)
        )
        return Measured(value, low, high, min(effect.passes for effect in effects))

    @staticmethod
    def _log_size(pair: Pair, evidence: Evidence) -> float:
        worker = evidence.workers(pair.name)[-1]
        if worker.reference_counts is None:
            raise CannotTell(f"{pair.name}: the record has no count of the reference's parameters")
        return math.log(worker.work.n_params / worker.reference_counts.n_params)


def fastest(pair: Pair, others: Sequence[Pair]) -> AllOf:
    """The rule that a pair's experiment takes less time than its reference and all others do."""
    beaten = [Within(Against(pair, other), high=1.0) for other in others]
    return AllOf((Within(Time(pair), high=1.0), *beaten))


def slope_weights(places: list[float]) -> list[float]:
    """What each value counts in the slope of a line through them and (0, 0), by least squares.

    Args:
        places: of the values; the reference's, 0, comes beside them, and its value is 0.
    """
    middle = statistics.fmean([0.0, *places])
    squares = sum((place - middle) ** 2 for place in [0.0, *places])
    return [(place - middle) / squares for place in places]


def _slope(weights: list[float], effects: list[float]) -> float:
    return sum(w * math.log(effect) for w, effect in zip(weights, effects, strict=True))


def _end(effect: Effect, upper: bool) -> float:
    end = effect.high if upper else effect.low
    assert end is not None
    return end


def _measured(effect: Effect) -> Measured:
    return Measured(effect.value, effect.low, effect.high, effect.passes)


def _calm(blocks: Sequence[Sample]) -> list[Sample]:
    """Those during which nobody else had the CPUs."""
    return [block for block in blocks if not block.disturbed]


def _over(values: list[float], pair: Pair) -> Measured:
    """The median; lowest to highest hold the true one with a chance of 1 - 2^(1 - n)."""
    if not values:
        raise CannotTell(f"{pair.name}: others had the CPUs during each of its blocks")
    return Measured(statistics.median(values), min(values), max(values))


def _waited(block: Sample) -> float:
    return (block.waited_s or 0.0) / sum(block.step_s)


def _reference(pair: Pair) -> str:
    return pair.beside
