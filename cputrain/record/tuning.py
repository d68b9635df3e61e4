"""What a tuning tried, in the order in which it did, and what was confirmed."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from cputrain.record.part import Count, Field, Number, Part, Parts, Seconds, Status, StepSeconds
from cputrain.record.rounds import Blocks, JointEffect, LevelEffect, Round

SCHEMA: Literal[1] = 1
FILE = "tuning.json"
SETTINGS = "settings.toml"
FOLDER = "tuned"
"""Beside the suites' folders; one folder in it for each tuning."""

Fields = dict[str, Field]
"""Fields of an experiment by name, whatever part they are in."""
Outcome = Literal["adopted", "raced", "dropped", "refused", "failed", "known", "not tried"]
"""What came of a candidate: it is part of what comes after; it was raced to the end; it was slower
and did not go on; this machine or its engine cannot have it; its worker gave no number; the
machine's records say that it is far slower; there was no time."""


class Raced(Part, frozen=True, kw_only=True):
    """A candidate of a race.

    Attributes:
        label: what it changes, for people.
        changes: of the best so far, field by field.
        reason: why it was dropped, refused, failed or not tried.
        ready_s: seconds until it was warm.
        warm_step_s: of its fastest step until then.
        step_s: of each of its blocks, the median step.
        log_ratios: of each of its blocks that counts, the logarithm of its step over the
            reference's in the same rotation, both with their `unseen_s`.
        not_counting: numbers of its blocks, from 0, that do not count: others took more of one of
            the two, or the CPUs lay elsewhere than for most blocks of the race.
        unseen_s: of a step, reckoned: fresh memory that whole micro-batches take and the smaller
            ones that raced do not.
    """

    label: str
    changes: Fields
    outcome: Outcome
    reason: str | None = None
    ready_s: Seconds | None = None
    warm_step_s: Seconds | None = None
    step_s: list[StepSeconds] = field(default_factory=list)
    log_ratios: list[Number] = field(default_factory=list)
    not_counting: list[Count] = field(default_factory=list)
    unseen_s: Seconds = 0.0


class Race(Part, frozen=True, kw_only=True):
    """Candidates of one knob beside the best so far, which is their reference.

    Attributes:
        knob: what is varied.
        reference: the best so far, as it ran here: perhaps in smaller micro-batches.
        step_s: of each of its blocks, the median step.
        unseen_s: see `Raced`.
        order: of each rotation, who ran when: places of candidates, -1 is the reference.
        all_count: less than half of its blocks were calm and at one place, so all count.
    """

    knob: str
    reference: Parts
    step_s: list[StepSeconds] = field(default_factory=list)
    unseen_s: Seconds = 0.0
    order: list[list[int]] = field(default_factory=list)
    all_count: bool = False
    candidates: list[Raced] = field(default_factory=list)

    @property
    def adopted(self) -> Raced | None:
        """The candidate that is the reference of what comes next, if one is."""
        return next((raced for raced in self.candidates if raced.outcome == "adopted"), None)


class FreshPass(Part, frozen=True, kw_only=True):
    """Fresh workers side by side: the tuned settings, the default ones, and one of them again.

    Attributes:
        pairs: of the tuned and the default.
        twins: of two workers of one experiment: what they differ by is noise. Empty where there
            was no second one.
        twins_engine: theirs.
        status, reason: "ok" once both have proven that they train.
        wall_s: seconds that it took.
    """

    pairs: list[Blocks] = field(default_factory=list)
    twins: list[Blocks] = field(default_factory=list)
    twins_engine: str | None = None
    status: Status = "unproven"
    reason: str | None = None
    wall_s: Seconds = 0.0


class TuningRecord(Part, frozen=True, kw_only=True):
    """One tuning: a file of its own.

    Attributes:
        started: ISO 8601, UTC.
        commit, dirty: of the working tree, and files of it that differ from the commit.
        versions: of what trained.
        seed: of the orders.
        budget_s: seconds that were given.
        took_s: seconds that it took, so far.
        default: the settled experiment that was to be made faster.
        allowed: values of a precision that might be chosen.
        kept: fields that were not to be changed.
        races: of knobs, in their order.
        without: the race of the winner without one of its changes each; None where there was none.
        rounds: fresh workers beside each other that differ in many changes at once.
        levels: what these and the races say of each change of the winner's engine.
        joint: what those that are likely give together; None where that was not asked.
        left_out: changes that won a race and are no part of `tuned`, as what came after did not
            show them to be of use.
        likeliest: changes that are tested though no race told them to be faster.
        not_tried: knobs that there was no time for.
        tuned: the experiment that was put to the test; None where no change was faster.
        passes: of the test.
        status: "ok" once it has come to its end.
        reason: what it ended with, where that is not "ok".
    """

    schema: Literal[1] = SCHEMA
    session: str
    machine: str
    started: str
    commit: str | None = None
    dirty: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    seed: Count
    budget_s: Annotated[float, Meta(gt=0)]
    took_s: Seconds = 0.0
    default: Parts
    allowed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    without: Race | None = None
    rounds: list[Round] = field(default_factory=list)
    levels: list[LevelEffect] = field(default_factory=list)
    joint: JointEffect | None = None
    left_out: list[str] = field(default_factory=list)
    likeliest: list[str] = field(default_factory=list)
    not_tried: list[str] = field(default_factory=list)
    tuned: Parts | None = None
    passes: list[FreshPass] = field(default_factory=list)
    status: Status = "unproven"
    reason: str | None = None
