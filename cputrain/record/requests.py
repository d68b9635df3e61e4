"""What a launcher tells a worker: a `JobRequest` first, then commands; one line of JSON each."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cputrain.record import files
from cputrain.record.part import Count, Part, Parts, Seconds
from cputrain.record.plan import TrainingPlan
from cputrain.record.process import Placement


class WorkerRequest(Part, frozen=True, kw_only=True):
    """What a worker is told beside its experiment.

    Attributes:
        folder: for the trained model.
        offline: download nothing.
        model_cap_bytes: a larger model is not kept.
        start: a saved model to start from.
        plan: of a run of many steps.
    """

    folder: str
    offline: bool
    model_cap_bytes: Count
    start: str | None = None
    plan: TrainingPlan | None = None


class JobRequest(WorkerRequest, frozen=True, kw_only=True):
    """The whole of what a worker is to run.

    Attributes:
        launched: `time.monotonic` when it was started.
    """

    experiment: Parts
    placement: Placement
    launched: Seconds


class SampleCommand(Part, frozen=True, kw_only=True, tag_field="do", tag="sample"):
    """Train a sample's steps.

    Attributes:
        beside: it was stopped just before, and is compared with another worker's sample that
            comes at once.
        steps: to time, taken as they come, however disturbed; None: as many as a block has.
    """

    beside: bool = False
    steps: Annotated[int, Meta(ge=1)] | None = None


class ProveCommand(Part, frozen=True, kw_only=True, tag_field="do", tag="prove"):
    """Prove so far that the model trained, and live on."""


class FinishCommand(Part, frozen=True, kw_only=True, tag_field="do", tag="finish"):
    """Prove that the model trained, save it, and end."""


class StopCommand(Part, frozen=True, kw_only=True, tag_field="do", tag="stop"):
    """Save after the step in progress, and end: to processes that train a run together."""


Command = SampleCommand | ProveCommand | FinishCommand
JOB_REQUEST = msgspec.json.Decoder(JobRequest)
COMMAND = msgspec.json.Decoder(Command)


def encode(message: JobRequest | Command | StopCommand) -> bytes:
    """One line. Raises `files.RecordError` where a number is not finite."""
    return files.encode(message) + b"\n"


def decode_request(line: str) -> JobRequest:
    """The request of a line.

    Raises:
        msgspec.DecodeError: it is none; it names the field.
    """
    request: JobRequest = JOB_REQUEST.decode(line)
    return request


def decode_command(line: str) -> Command:
    """The command of a line.

    Raises:
        msgspec.DecodeError: it is none.
    """
    command: Command = COMMAND.decode(line)
    return command
