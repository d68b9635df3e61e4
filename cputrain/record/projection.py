"""What a projection of a run rests on: the record of a worker that trained for a minute."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from cputrain.record.part import Count, Part
from cputrain.record.worker import WorkerRecord

SCHEMA: Literal[1] = 1
FILE = "projection.json"
FOLDER = "projections"
"""Beside the suites' folders; one folder in it for each projection."""


class ProjectionRecord(Part, frozen=True, kw_only=True):
    """One projection: a file of its own.

    Attributes:
        steps: of the whole run.
        done: of them, when it is resumed.
        worker: what ran; its samples have every step of some seconds each, one after the other.
    """

    schema: Literal[1] = SCHEMA
    steps: Annotated[int, Meta(ge=1)]
    done: Count = 0
    worker: WorkerRecord

    def __post_init__(self) -> None:
        if self.done >= self.steps:
            raise ValueError(f"{self.done} of {self.steps} steps are done: none is left")
