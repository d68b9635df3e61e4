"""How step time grows with size: the slope of a line through logarithms."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from cputrain.analysis.claims.claim import ClaimPair
from cputrain.analysis.claims.evidence import CannotTell, ClaimEvidence, MeasuredQuantity
from cputrain.analysis.paired.effect import Effect


@dataclass(frozen=True)
class Exponent:
    """k of time ~ parameters^k, by least squares through the logarithms."""

    sizes: tuple[ClaimPair, ...]
    unit: str = ""
    label: str = "k of step time ~ parameters^k"

    @property
    def pairs(self) -> tuple[str, ...]:
        """All."""
        return tuple(pair.name for pair in self.sizes)

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """The slope; its ends by the effects' own. Raises CannotTell."""
        effects = [evidence.effect(pair.name) for pair in self.sizes]
        logs = [self._log_size(pair, evidence) for pair in self.sizes]
        if not any(logs):
            raise CannotTell("all of its models have as many parameters as the reference's")
        weights = slope_weights(logs)
        value = _slope(weights, [effect.value for effect in effects])
        if any(effect.low is None or effect.high is None for effect in effects):
            return MeasuredQuantity(value, None, None)
        low, high = (
            _slope(weights, [_end(e, (w > 0) == up) for e, w in zip(effects, weights, strict=True)])
            for up in (False, True)
        )
        return MeasuredQuantity(value, low, high, min(effect.passes for effect in effects))

    @staticmethod
    def _log_size(pair: ClaimPair, evidence: ClaimEvidence) -> float:
        worker = evidence.workers(pair.name)[-1]
        if worker.reference_counts is None:
            raise CannotTell(f"{pair.name}: the record has no count of the reference's parameters")
        return math.log(worker.work.n_params / worker.reference_counts.n_params)


def slope_weights(places: list[float]) -> list[float]:
    """What each value counts in the slope of a line through them and (0, 0), by least squares.

    Args:
        places: of the values, one other than 0 at least; the reference's, 0, comes beside them,
            and its value is 0.
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
