"""What a cell asks of the conductor, and what it is told: one line of JSON each."""

from __future__ import annotations

import msgspec

from cputrain.record.answers import Failed, Finished, Ready, Sampled
from cputrain.record.part import Part, Parts, Seconds
from cputrain.record.process import Placement
from cputrain.record.requests import WorkerRequest


class NewWorker(Part, frozen=True, kw_only=True):
    """What a worker is started with.

    Attributes:
        run: the asv call: workers of another one are not gone on with.
        compiled: folder for compiled code.
        fresh: it is to be a fresh interpreter although it could be forked: workers that are
            compared with one another start alike.
    """

    run: str
    experiment: Parts
    request: WorkerRequest
    compiled: str | None = None
    fresh: bool = False


class Start(NewWorker, frozen=True, kw_only=True, tag_field="ask", tag="start"):
    """Start a worker of the cell.

    Attributes:
        keep: leave `compiled` for a later worker.
        ready_in_s: seconds after which a worker that is not warm has run out of time; None is
            those of its deadline.
    """

    keep: bool = False
    ready_in_s: Seconds | None = None


class Expect(Part, frozen=True, kw_only=True, tag_field="ask", tag="expect"):
    """Start the parent of workers to come, while nothing is measured yet."""

    run: str
    experiment: Parts


class Refer(NewWorker, frozen=True, kw_only=True, tag_field="ask", tag="refer"):
    """Have a reference: the live one of this run and experiment, or a new one, proven to train."""


class Take(Part, frozen=True, kw_only=True, tag_field="ask", tag="take"):
    """Let a worker train a sample's steps while all others are stopped.

    Attributes:
        beside: it is compared with another worker's sample that comes just before or after.
    """

    worker: str
    beside: bool


class Finish(Part, frozen=True, kw_only=True, tag_field="ask", tag="finish"):
    """Have a worker prove that it trained, save its model and end."""

    worker: str


class End(Part, frozen=True, kw_only=True, tag_field="ask", tag="end"):
    """End a worker, whatever it does."""

    worker: str


class Started(Part, frozen=True, kw_only=True, tag_field="reply", tag="started"):
    """A worker is warm, and stopped.

    Attributes:
        worker: its name.
        forked: whether it was forked from a process that had imported its engine.
        ready: what it reports.
        proof: of a reference: that it trained; None once a cell has written that down, which it
            has when it goes on to start a worker.
    """

    worker: str
    forked: bool
    placement: Placement
    ready: Ready
    proof: Finished | None = None


class Taken(Part, frozen=True, kw_only=True, tag_field="reply", tag="taken"):
    """A sample."""

    sampled: Sampled


class Ended(Part, frozen=True, kw_only=True, tag_field="reply", tag="ended"):
    """The worker is gone; with its last report where it was to finish."""

    finished: Finished | None = None
    left_over: str | None = None


class Gone(Part, frozen=True, kw_only=True, tag_field="reply", tag="gone"):
    """The worker gave no number, and is gone."""

    failed: Failed


class Refused(Part, frozen=True, kw_only=True, tag_field="reply", tag="refused"):
    """Nothing can be measured now: one line says why."""

    reason: str


Ask = Expect | Start | Refer | Take | Finish | End
Reply = Started | Taken | Ended | Gone | Refused
ASK = msgspec.json.Decoder(Ask)
REPLY = msgspec.json.Decoder(Reply)
