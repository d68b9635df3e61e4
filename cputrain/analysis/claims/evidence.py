"""What is known of the pairs that decide a claim: quantities with intervals, by a pair's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cputrain.analysis.paired.effect import Effect
from cputrain.record.worker import WorkerRecord


class CannotTell(Exception):
    """A quantity is not known here: one line says why.

    Args:
        why: that line.
        further_passes: about how many more passes would tell it; None where they do not help.
    """

    def __init__(self, why: str, further_passes: int | None = None) -> None:
        super().__init__(why)
        self.further_passes = further_passes


@dataclass(frozen=True)
class MeasuredQuantity:
    """A quantity.

    Attributes:
        low, high: its interval; None where there is none.
        passes: that it comes from; 0 where further ones would not narrow it.
    """

    value: float
    low: float | None
    high: float | None
    passes: int = 0


@dataclass(frozen=True)
class PairResult:
    """What was measured of a pair.

    Attributes:
        effect: time of its experiment over its reference's; None for the reason in `reason`.
        workers: that measured it.
        doubts: why its interval holds more than the noise is.
    """

    effect: Effect | None = None
    reason: str = "it was not measured yet"
    workers: tuple[WorkerRecord, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClaimEvidence:
    """What is known.

    Attributes:
        pairs: by their names.
        altered: the effects of what runs in `worker.altered`, by its name.
        references: workers that others ran beside, by the name of their pair with themselves.
    """

    pairs: Mapping[str, PairResult] = field(default_factory=dict)
    altered: Mapping[str, PairResult] = field(default_factory=dict)
    references: Mapping[str, tuple[WorkerRecord, ...]] = field(default_factory=dict)

    def effect(self, pair: str) -> Effect:
        """Of a pair. Raises CannotTell."""
        return _effect(pair, self.pairs.get(pair, PairResult()))

    def doubts(self, names: Iterable[str]) -> list[str]:
        """Why effects of pairs, or of what runs altered, may be off by more than the noise."""
        every = {**self.altered, **self.pairs}
        known = [(name, every.get(name, PairResult())) for name in names]
        return [f"{name}: {doubt}" for name, result in known for doubt in result.doubts]

    def altered_effect(self, name: str) -> Effect:
        """Of what runs in `worker.altered`. Raises CannotTell."""
        return _effect(name, self.altered.get(name, PairResult()))

    def workers(self, pair: str) -> tuple[WorkerRecord, ...]:
        """That measured a pair. Raises CannotTell."""
        result = self.pairs.get(pair, PairResult())
        if not result.workers:
            raise CannotTell(f"{pair}: {result.reason}")
        return result.workers


def _effect(name: str, result: PairResult) -> Effect:
    if result.effect is None:
        raise CannotTell(f"{name}: {result.reason}")
    return result.effect
