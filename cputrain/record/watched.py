"""Steps of a worker that were watched part by part."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from cputrain.record.part import Count, Number, Part, Seconds, StepSeconds


class PartTimes(Part, frozen=True, kw_only=True):
    """One part of a step (`model.parts`).

    Attributes:
        seconds: of each watched step.
        calls: operations, or phases, that a step has of it; None where they are not counted.
        flops, bytes: see `model.parts.by_part`.
    """

    seconds: Annotated[list[Seconds], Meta(min_length=1)]
    calls: Count | None
    flops: Count
    bytes: Count | None


class WatchedSteps(Part, frozen=True, kw_only=True):
    """Steps that were watched, each after one that was not: those are the worker's sample.

    Attributes:
        step_s: seconds of each watched step.
        parts: by name; their seconds add up to each step, but for the watcher's own cost.
        how: where the seconds come from.
        unseen: what this engine cannot tell.
        tolerance: share by which the sum of the parts may miss the time of a step.
        dispatch_s: seconds of the smallest call; None for `no_dispatch`.
        beside: seconds a step off its clock, by what: taking the batch.
    """

    step_s: Annotated[list[StepSeconds], Meta(min_length=1)]
    parts: dict[str, PartTimes]
    how: str
    unseen: str
    tolerance: Annotated[float, Meta(gt=0, lt=1)]
    dispatch_s: Seconds | None = None
    no_dispatch: str | None = None
    beside: dict[str, Number] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, part in self.parts.items():
            if len(part.seconds) != len(self.step_s):
                raise ValueError(f"parts.{name}: {len(part.seconds)} steps, not {len(self.step_s)}")
