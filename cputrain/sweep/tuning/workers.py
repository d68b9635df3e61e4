"""Workers of a tuning, leased from a conductor: started warm, let run a block, ended."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Protocol

from cputrain.errors import RunError
from cputrain.experiment import Experiment
from cputrain.machine import fresh_memory
from cputrain.machine.memory import available_memory
from cputrain.model.memory_estimate import memory_bytes
from cputrain.record.sample import Sample
from cputrain.run import compiled, placement, recording
from cputrain.run.conductor.client import Lease
from cputrain.run.conductor.protocol import End, Ended, Finish, Start, Started, Take, Taken
from cputrain.run.failed import CellFailed
from cputrain.run.session import Session
from cputrain.sweep.tuning import reduced

DEADLINE_S = 3600
"""Of a worker: the best so far lives through many races."""


@dataclass(frozen=True)
class Running:
    """A warm worker, stopped.

    Attributes:
        name: the conductor's for it.
        experiment: what it runs.
        ready_s: seconds until it was warm.
        warm_step_s: of its fastest step until then.
        is_steady: whether its steps took the same in the end.
        versions: of what trains in it.
    """

    name: str
    experiment: Experiment
    ready_s: float
    warm_step_s: float
    is_steady: bool
    versions: dict[str, str]

    def expected_s(self, experiment: Experiment) -> float:
        """Seconds until a worker of another experiment is warm, by what this one took.

        A machine that starts this one sooner than is guessed need not compile any faster: where
        torch was warm in 0.6 of the guess, inductor took 1.2 to 1.5 times its own.
        """
        compiling = reduced.compile_s(experiment)
        others = (reduced.start_s(experiment) - compiling) * self.slowness
        return others + compiling * max(1.0, self.slowness)

    def expected_block_s(self, experiment: Experiment) -> float:
        """Seconds of a step of another experiment, as it is run, by what this one's takes."""
        ratio = reduced.block_s(experiment) / reduced.block_s(self.experiment)
        return self.warm_step_s * ratio

    @property
    def slowness(self) -> float:
        """Seconds until it was warm over those that are guessed, within a factor of three."""
        return min(3.0, max(1 / 3, self.ready_s / reduced.start_s(self.experiment)))


class Workers(Protocol):
    """Where workers come from. All raise CellFailed where one gives no number."""

    def page_s(self, is_huge: bool) -> float:
        """Seconds of a page of fresh memory, here and now (`machine.fresh_memory`)."""

    def start(self, experiment: Experiment, within_s: float) -> Running:
        """A worker of a settled experiment, which has so many seconds to be warm."""

    def block(self, worker: Running) -> Sample:
        """A block of its steps, while all others are stopped."""

    def prove(self, worker: Running) -> None:
        """Have it prove that it trained, and end."""

    def end(self, worker: Running) -> None:
        """End it; one that is gone already has ended."""


class Leased:
    """Workers of a conductor; all are fresh interpreters, so that they start alike.

    Args:
        lease: to ask for them.
        session: that they belong to.
    """

    def __init__(self, lease: Lease, session: Session) -> None:
        self._lease, self._session = lease, session
        folder = placement.COMPILED / session.id  # no model is kept, so nothing is written there
        self._request = recording.request(session, folder, keeps_model=False)

    def page_s(self, is_huge: bool) -> float:
        """See `Workers`.

        Raises:
            RunError: there is no memory to measure it with.
        """
        try:
            return fresh_memory.page_s(is_huge)
        except OSError as error:
            size = f"{fresh_memory.BYTES >> 20} MiB"
            raise RunError(
                f"what fresh memory costs could not be measured ({size}: {error.strerror}): "
                "free some memory and try again"
            ) from error

    def start(self, experiment: Experiment, within_s: float) -> Running:
        """See `Workers`."""
        experiment = experiment.but(deadline_s=DEADLINE_S)
        need, free = memory_bytes(experiment).total, available_memory()
        if need > free:
            reason = f"{need / 2**30:.1f} GiB beside the others, {free / 2**30:.1f} GiB are free"
            raise CellFailed("out of memory", f"needs about {reason}")
        folder = compiled.folder(self._session, experiment)
        started_at = time.monotonic()
        ask = Start(
            run=self._session.run,
            experiment=experiment.to_json(),
            request=self._request,
            compiled=None if folder.path is None else str(folder.path),
            keep=folder.stays,
            fresh=True,
            ready_in_s=max(1.0, within_s),
        )
        started = self._lease.ask(ask, Started)
        folder.fill()
        assert started.ready.warm_step_s is not None  # a first step is not described
        return Running(
            started.worker,
            experiment,
            time.monotonic() - started_at,
            started.ready.warm_step_s,
            started.ready.steady is not False,
            started.ready.versions,
        )

    def block(self, worker: Running) -> Sample:
        """See `Workers`."""
        return self._lease.ask(Take(worker=worker.name, beside=True), Taken).sampled.sample

    def prove(self, worker: Running) -> None:
        """See `Workers`."""
        self._lease.ask(Finish(worker=worker.name), Ended)

    def end(self, worker: Running) -> None:
        """See `Workers`."""
        with contextlib.suppress(CellFailed):
            self._lease.ask(End(worker=worker.name), Ended)


def reference(workers: Workers, experiment: Experiment, within_s: float, what: str) -> Running:
    """A worker that others are compared with.

    Args:
        what: it is called.

    Raises:
        RunError: it gave no number.
    """
    try:
        return workers.start(experiment, within_s)
    except CellFailed as failure:
        raise RunError(f"{what} gave no number: {failure.reason}") from failure
