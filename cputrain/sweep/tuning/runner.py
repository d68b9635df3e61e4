"""A candidate while it races, and what comes of a race."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field

from cputrain.analysis.places import Places
from cputrain.analysis.tuning import counting
from cputrain.record.rounds import Blocks
from cputrain.record.tuning import Outcome, Race, Raced
from cputrain.sweep.tuning.candidates import TuningCandidate, fields
from cputrain.sweep.tuning.workers import Running

NOTHING_COUNTS = (
    "none of its blocks can be compared: others had the CPUs, or these lay elsewhere than for most"
)


@dataclass
class Runner:
    """A candidate in a race; its fields are those of its record.

    Attributes:
        running: its worker, while it lives.
        pairs: each of its blocks beside the reference's of the same rotation.
        log_ratios: of the pairs that count; see `judge`.
        unseen_s: of a step, its own and the reference's; see `Raced`.
    """

    candidate: TuningCandidate
    outcome: Outcome = "raced"
    reason: str | None = None
    running: Running | None = None
    ready_s: float | None = None
    warm_step_s: float | None = None
    step_s: list[float] = field(default_factory=list)
    pairs: list[Blocks] = field(default_factory=list)
    log_ratios: list[float] = field(default_factory=list)
    not_counting: list[int] = field(default_factory=list)
    unseen_s: tuple[float, float] = (0.0, 0.0)

    def ended(self, outcome: Outcome, reason: str | None = None) -> None:
        """Its worker is gone; what came of it."""
        self.outcome, self.reason, self.running = outcome, reason, None

    def judge(self, at: Places | None) -> None:
        """See which of its pairs count.

        Args:
            at: the places of the race's pairs; None where all of them are to count.
        """
        count = [at is None or counting.counts(pair, at) for pair in self.pairs]
        both = list(zip(self.pairs, count, strict=True))
        self.log_ratios = [self._log_ratio(pair) for pair, does in both if does]
        self.not_counting = [number for number, does in enumerate(count) if not does]

    def _log_ratio(self, pair: Blocks) -> float:
        own, beside = map(operator.add, pair.step_s, self.unseen_s)
        return math.log(own / beside)

    @property
    def raced(self) -> Raced:
        """Its record."""
        return Raced(
            label=self.candidate.label,
            changes=fields(self.candidate.changes),
            outcome=self.outcome,
            reason=self.reason or self._nothing_counts,
            ready_s=self.ready_s,
            warm_step_s=self.warm_step_s,
            step_s=self.step_s,
            log_ratios=self.log_ratios,
            not_counting=self.not_counting,
            unseen_s=self.unseen_s[0],
        )

    @property
    def _nothing_counts(self) -> str | None:
        """Why it has blocks and no ratio."""
        return NOTHING_COUNTS if self.pairs and not self.log_ratios else None


@dataclass(frozen=True)
class Ran:
    """What came of a race.

    Attributes:
        race: its record.
        fastest: the reference of what comes next, which lives; the winner's worker or the
            reference's.
        winner: None where no candidate was faster.
        waiting: candidates that the memory had no room for.
    """

    race: Race
    fastest: Running
    winner: TuningCandidate | None
    waiting: list[TuningCandidate]
