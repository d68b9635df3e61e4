"""A candidate while it races, and what comes of a race."""

from __future__ import annotations

from dataclasses import dataclass, field

from cputrain.record.tuning import Outcome, Race, Raced
from cputrain.sweep.tuning.candidates import TuningCandidate, fields
from cputrain.sweep.tuning.workers import Running


@dataclass
class Runner:
    """A candidate in a race; its fields are those of its record.

    Attributes:
        running: its worker, while it lives.
    """

    candidate: TuningCandidate
    outcome: Outcome = "raced"
    reason: str | None = None
    running: Running | None = None
    ready_s: float | None = None
    warm_step_s: float | None = None
    step_s: list[float] = field(default_factory=list)
    log_ratios: list[float] = field(default_factory=list)

    def ended(self, outcome: Outcome, reason: str | None = None) -> None:
        """Its worker is gone; what came of it."""
        self.outcome, self.reason, self.running = outcome, reason, None

    @property
    def raced(self) -> Raced:
        """Its record."""
        return Raced(
            label=self.candidate.label,
            changes=fields(self.candidate.changes),
            outcome=self.outcome,
            reason=self.reason,
            ready_s=self.ready_s,
            warm_step_s=self.warm_step_s,
            step_s=self.step_s,
            log_ratios=self.log_ratios,
        )


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
