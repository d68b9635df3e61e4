"""What a cell tells the sweep that follows it: one line of JSON when a worker ended."""

from __future__ import annotations

from cputrain.record.part import Count, Number, Part, Seconds, Status


class WorkerEnded(Part, frozen=True, kw_only=True):
    """A worker ended.

    Attributes:
        at: seconds since the epoch.
        step_s: seconds of a step; None where it has no step.
        disturbed: see `WorkerRecord.is_disturbed`.
        wall_s: its whole life.
        training_s: in which it or its reference trained.
        repeats: the cell, as suite/cell, whose numbers it has; None where it ran itself.
        is_baseline: whether its reference ran the same experiment, by being its suite's baseline.
        effect: its time over its reference's, the median over the pairs that count;
            None without one.
    """

    at: Number
    suite: str
    cell: str
    status: Status
    reason: str | None
    step_s: Number | None
    tokens_per_step: Count
    disturbed: bool
    wall_s: Seconds
    note: str | None
    effect: Number | None = None
    training_s: Seconds = 0.0
    repeats: str | None = None
    is_baseline: bool = False
