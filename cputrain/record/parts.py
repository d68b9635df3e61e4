"""Where the time of a step goes: the record of a worker whose steps were watched."""

from __future__ import annotations

from typing import Literal

from cputrain.record.part import Part
from cputrain.record.watched import WatchedSteps
from cputrain.record.worker import WorkerRecord

SCHEMA: Literal[1] = 1
FILE = "parts.json"
SUITE = "parts"
"""The folder of these records, as a suite's name."""


class PartsRecord(Part, frozen=True, kw_only=True):
    """One shape on one engine: a file of its own.

    Attributes:
        shape: the suite that it is the baseline of.
        engine: the value of that suite.
        worker: what ran; its sample has the steps that were not watched.
        watched: None where it gave no number.
    """

    schema: Literal[1] = SCHEMA
    shape: str
    engine: str
    worker: WorkerRecord
    watched: WatchedSteps | None = None

    def __post_init__(self) -> None:
        if self.worker.ok and self.watched is None:
            raise ValueError("watched is missing beside a worker that is ok")
        if self.worker.ok and self.watched is not None:
            watched, plain = len(self.watched.step_s), len(self.worker.step_s)
            if watched != plain:  # they took turns
                text = f"watched.step_s: {watched} steps beside {plain} of worker.samples"
                raise ValueError(text)
