"""What a worker answers its launcher: one line of JSON each."""

from __future__ import annotations

from typing import Any

import msgspec

from cputrain.record import files
from cputrain.record.evidence import EncodedEvidence
from cputrain.record.part import Count, Failure, Number, Part, Parts, Readings, Seconds
from cputrain.record.process import Place, State
from cputrain.record.proof import Check, Trained
from cputrain.record.sample import Sample
from cputrain.record.watched import WatchedSteps
from cputrain.record.work import Counts, Data, SavedStart

Phases = dict[str, Seconds]
"""Seconds of each part of a worker's life, by its name."""


class Phase(Part, frozen=True, kw_only=True, tag_field="answer", tag="phase"):
    """What the worker does now."""

    what: str


class Failed(Part, frozen=True, kw_only=True, tag_field="answer", tag="failed"):
    """Why the worker gives up."""

    status: Failure
    reason: str


class Peak(Readings, frozen=True, kw_only=True):
    """Resident memory at its most, so far; of several processes their sum, each one's, and
    torchrun's own, which is not in the sum."""

    peak_rss_bytes: Count | None = None
    peak_rss_bytes_by_rank: list[Count | None] | None = None
    torchrun_peak_rss_bytes: Count | None = None


class SoFar(Part, frozen=True, kw_only=True):
    """What holds at any time after the first step.

    Attributes:
        first_loss: of the first batch before any step.
        training_s: seconds on the clock so far, as they were spent.
    """

    first_loss: Number
    steps_done: Count
    training_s: Seconds
    optimizer_state_bytes: Count


class Ready(Part, frozen=True, kw_only=True, tag_field="answer", tag="ready"):
    """The worker is warm, and its settings are in force.

    Attributes:
        readings: what the engine's libraries report to be in force.
        composed: what a step time is reckoned from; None where whole steps are timed.
        simulated: how the precision is simulated; None where it is computed.
        in_force, warm_up_steps, steady, warm_step_s: of the warm-up, whose fastest step took
            warm_step_s seconds; None where a first step is timed.
        no_passes: why samples have no seconds of the passes; None where they have.
    """

    readings: dict[str, Any]
    state: State
    phases: Phases
    composed: str | None
    started_from: SavedStart | None
    simulated: str | None
    counts: Counts
    data: Data
    versions: dict[str, str]
    in_force: list[Check] | None = None
    warm_up_steps: Count | None = None
    steady: bool | None = None
    warm_step_s: Seconds | None = None
    no_passes: str | None = None


class Sampled(Part, frozen=True, kw_only=True, tag_field="answer", tag="sampled"):
    """One sample was taken."""

    sample: Sample
    peak: Peak
    so_far: SoFar


class Watched(Part, frozen=True, kw_only=True, tag_field="answer", tag="watched"):
    """Steps were taken in turns, plain and watched part by part; the sample has the plain ones."""

    sample: Sample
    watched: WatchedSteps
    peak: Peak
    so_far: SoFar


class Finished(Part, frozen=True, kw_only=True, tag_field="answer", tag="finished"):
    """The training gates have passed, and the model is saved.

    Attributes:
        evidence: what the engine really executed, as it shows itself; of the type that its spec
            names.
        model_file: beside the record; None where it was not kept, for the reason in `note`.
    """

    trained: Trained
    last_loss: Number
    evidence: EncodedEvidence
    in_force: list[Check] | None
    model_file: str | None
    note: str | None
    phases: Phases
    so_far: SoFar


class Report(Part, frozen=True, kw_only=True):
    """What processes on several hosts leave behind.

    Attributes:
        label: how many processes on how many machines.
    """

    label: str
    places: list[Place]
    experiment: Parts
    ready: Ready
    samples: list[Sample]
    peak: Peak
    finished: Finished


Answer = Phase | Failed | Ready | Sampled | Watched | Finished
DECODER = msgspec.json.Decoder(Answer)


def encode(answer: Part) -> bytes:
    """One line. Raises `files.RecordError` where a number is not finite."""
    return files.encode(answer) + b"\n"


def decode(line: bytes) -> Answer:
    """The answer of a line.

    Raises:
        msgspec.DecodeError: it is none.
    """
    answer: Answer = DECODER.decode(line)
    return answer
