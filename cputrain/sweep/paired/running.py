"""A fresh worker of a conductor, and its blocks in turns with another one's (ABBA)."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

from msgspec import structs

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.machine.memory import available_memory
from cputrain.model.memory_estimate import memory_bytes
from cputrain.record.answers import Sampled
from cputrain.record.process import Turn
from cputrain.record.requests import WorkerRequest
from cputrain.record.sample import Pair
from cputrain.record.worker import WorkerRecord
from cputrain.run import compiled, placement, recording, references
from cputrain.run.conductor.protocol import End, Ended, Finish, Refer, Start, Started, Take, Taken
from cputrain.run.failed import CellFailed
from cputrain.sweep.paired.conducted import Conducted
from cputrain.worker import blocks

PAIRS, PAIRS_S, FEWEST_PAIRS = 16, 3.0, 3
"""Pairs of blocks of two workers, of short steps; seconds for them, about, where steps are longer:
less than starting both workers takes; and how many of the longest."""

AGAIN = 2
"""Times as many are taken at most, where others have the CPUs during some: those do not count, and
which ones they are is told by what others took, never by how long steps took."""


@dataclass
class Running:
    """A warm worker, stopped.

    Attributes:
        of: whose it is.
        record: so far.
        started: when, by `time.monotonic`.
        steps_done: so far.
        failure: why it is gone, where it is.
    """

    of: Conducted
    record: WorkerRecord
    started: float
    steps_done: int = 0
    failure: CellFailed | None = None

    def block(self) -> Sampled:
        """A block of its steps, while all others are stopped. Raises CellFailed."""
        ask = Take(worker=self.record.id, beside=True)
        try:
            sampled = self.of.lease.ask(ask, Taken).sampled
        except CellFailed as failure:
            self.failure = failure
            raise
        self.steps_done = sampled.so_far.steps_done
        return sampled

    def finish(self) -> None:
        """Have it prove that it trained, and end. Raises CellFailed."""
        ended = self.of.lease.ask(Finish(worker=self.record.id), Ended)
        assert ended.finished is not None
        record = self.record.with_proof(ended.finished).but(left_over=ended.left_over)
        self.record = record.but(status="ok", wall_s=time.monotonic() - self.started)

    def end(self) -> None:
        """End it, whatever it does; nothing where it is gone already."""
        if self.record.status != "ok":
            with contextlib.suppress(CellFailed):
                self.of.lease.ask(End(worker=self.record.id), Ended)


def start(of: Conducted, experiment: Experiment, turn: Turn | None = None) -> Running:
    """A worker, warm and stopped.

    Args:
        of: whose.
        experiment: what it runs, settled.
        turn: goes to its record.

    Raises:
        CellFailed: it gave no number.
    """
    began, session = time.monotonic(), of.session
    record = recording.opened(session, experiment, turn=turn)
    if of.commit is not None:
        record = record.but(commit=of.commit[0], dirty=of.commit[1])
    folder = compiled.folder(session, experiment)
    ask = Start(
        run=of.run,
        experiment=experiment.to_json(),
        request=_request(of),
        compiled=None if folder.path is None else str(folder.path),
        keep=folder.stays,
        fresh=True,
    )
    folder.open()
    started = of.lease.ask(ask, Started)
    folder.fill()
    record = record.with_ready(started.ready, started.placement)
    record = record.but(id=started.worker, forked=started.forked, code_was_cached=folder.has_code)
    return Running(of, record, began)


def refer(of: Conducted, experiment: Experiment) -> Running:
    """The live reference of the conductor's run, or a new one, proven to train.

    Its record is "unproven" where it was there before: who asked first has the proof.

    Raises:
        CellFailed: it gave no number.
    """
    began, session = time.monotonic(), of.session
    folder = compiled.folder(session, experiment)
    cached = folder.has_code
    ask = Refer(
        run=of.run,
        experiment=experiment.to_json(),
        request=_request(of),
        compiled=None if folder.path is None else str(folder.path),
        fresh=True,
    )
    folder.open()
    started = of.lease.ask(ask, Started)
    folder.fill()
    record = recording.opened(session, experiment, id=started.worker)
    if started.proof is not None:
        wall_s = time.monotonic() - began
        record = references.proven(record, started, started.proof, cached, wall_s)
    return Running(of, record, began)


def _request(of: Conducted) -> WorkerRequest:
    return recording.request(of.session, placement.COMPILED / of.session.id, keeps_model=False)


def take_pairs(reference: Running, worker: Running) -> list[tuple[int, int]]:
    """Blocks of two workers in turns; the pairs join the worker's record.

    Returns:
        After each pair how many steps the reference and the worker had done.

    Raises:
        CellFailed: one of them gave no number, which its `failure` says.
    """
    wanted, counting = _wanted(reference.record, worker.record), 0
    steps_done: list[tuple[int, int]] = []
    while counting < wanted and len(steps_done) < AGAIN * wanted:
        pair = _pair(reference, worker, len(steps_done))
        worker.record = worker.record.but(pairs=[*worker.record.pairs, pair])
        steps_done.append((reference.steps_done, worker.steps_done))
        counting += not any(worker.record.disturbed_sides(pair))
    reference.record = reference.record.but(reference=reference.record.id)
    worker.record = worker.record.but(reference=reference.record.id)
    return steps_done


def _pair(reference: Running, worker: Running, number: int) -> Pair:
    """A block of each, in the order that is its turn."""
    taken: dict[str, Sampled] = {}
    order = blocks.order(worker.record.id, number)
    for side in order:
        taken[side] = (worker if side == "cell" else reference).block()
    worker.record = worker.record.with_sample(taken["cell"])
    so_far = structs.asdict(taken["reference"].so_far) | structs.asdict(taken["reference"].peak)
    reference.record = reference.record.but(**so_far)  # its samples are in the pairs
    return Pair(sample=number, reference=taken["reference"].sample, first=order[0])


def _wanted(reference: WorkerRecord, worker: WorkerRecord) -> int:
    """How many pairs, by how long steps are once warm."""
    sides = [
        blocks.side(Experiment.from_json(each.experiment), each.warm_step_s)
        for each in (worker, reference)
    ]
    return max(blocks.pairs(PAIRS, sides[0], sides[1], PAIRS_S), FEWEST_PAIRS)


def require_memory(*experiments: Experiment) -> None:
    """Raise CellFailed where workers of these have no room beside each other."""
    need = sum(memory_bytes(specs.settle(each)).total for each in experiments)
    free = available_memory()
    if need > free:
        both = f"{need / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free"
        raise CellFailed("out of memory", f"two workers beside each other need about {both}")
