"""A fresh worker of one side beside a fresh worker of another: blocks in turns, then proofs."""

from __future__ import annotations

import time
from dataclasses import dataclass

from msgspec import structs

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.machine.memory import available_memory
from cputrain.model.memory_estimate import memory_bytes
from cputrain.record.answers import Sampled
from cputrain.record.part import Status
from cputrain.record.releases import TakenPair
from cputrain.record.sample import Pair
from cputrain.record.worker import WorkerRecord
from cputrain.run import compiled, placement, recording
from cputrain.run.conductor.protocol import End, Ended, Finish, Start, Started, Take, Taken
from cputrain.run.failed import CellFailed
from cputrain.sweep.releases.chosen import ChosenCell
from cputrain.sweep.releases.sides import Conducted
from cputrain.worker import blocks

PAIRS, PAIRS_S = 16, 3.0
"""Pairs of blocks of two workers, of short steps; seconds for them, about, where steps are longer:
less than starting both workers takes."""

AGAIN = 2
"""Times as many are taken at most, where others have the CPUs during some: those do not count, and
which ones they are is told by what others took, never by how long steps took."""


@dataclass
class Running:
    """A warm worker, stopped.

    Attributes:
        of: the side that it is of.
        record: so far.
        steps_done: so far.
        started: when, by `time.monotonic`.
    """

    of: Conducted
    record: WorkerRecord
    steps_done: int
    started: float

    def block(self) -> Sampled:
        """A block of its steps, while all others are stopped. Raises CellFailed."""
        ask = Take(worker=self.record.id, beside=True)
        sampled = self.of.lease.ask(ask, Taken).sampled
        self.steps_done = sampled.so_far.steps_done
        return sampled

    def finish(self) -> None:
        """Have it prove that it trained, and end. Raises CellFailed."""
        ended = self.of.lease.ask(Finish(worker=self.record.id), Ended)
        assert ended.finished is not None
        record = self.record.with_proof(ended.finished).but(left_over=ended.left_over)
        self.record = record.but(status="ok", wall_s=time.monotonic() - self.started)


def start(of: Conducted, experiment: Experiment) -> Running:
    """A worker of one side, warm and stopped. Raises CellFailed."""
    began, session = time.monotonic(), of.session
    record = recording.opened(session, experiment)
    record = record.but(commit=of.side.record.commit, dirty=of.side.record.dirty)
    folder = compiled.folder(session, experiment)
    ask = Start(
        run=session.run,
        experiment=experiment.to_json(),
        request=recording.request(session, placement.COMPILED / session.id, keeps_model=False),
        compiled=None if folder.path is None else str(folder.path),
        keep=folder.stays,
        fresh=True,
    )
    folder.open()
    started = of.lease.ask(ask, Started)
    folder.fill()
    record = record.with_ready(started.ready, started.placement)
    record = record.but(id=started.worker, forked=started.forked, code_was_cached=folder.has_code)
    return Running(of, record, 0, began)


def take(cell: ChosenCell, number: int, sides: tuple[int, int], of: list[Conducted]) -> TakenPair:
    """One pass of one cell: two fresh workers, their blocks in turns (ABBA).

    Which of them starts first changes from pass to pass: being the second may matter by itself.

    Args:
        cell: what runs.
        number: of the pass.
        sides: places of the reference's side and the other's; the same twice is A/A.
        of: all sides.

    Returns:
        What came of it; why, where it is no number.
    """
    began = time.monotonic()
    running: dict[int, Running] = {}
    pairs: list[Pair] = []
    steps_done: list[tuple[int, int]] = []
    status: Status = "ok"
    reason = None
    try:
        _require_memory(*(cell.experiments[side] for side in sides))
        for place in (0, 1) if number % 2 else (1, 0):
            side = sides[place]
            try:
                running[place] = start(of[side], cell.experiments[side])
            except CellFailed as failure:
                label = of[side].side.record.label if sides[0] != sides[1] else f"copy {place + 1}"
                raise CellFailed(failure.status, f"{label}: {failure.reason}") from failure
        reference, worker = running[0], running[1]
        wanted, counting = _pairs(reference.record, worker.record), 0
        while counting < wanted and len(pairs) < AGAIN * wanted:
            pairs.append(_pair(reference, worker, len(pairs)))
            steps_done.append((reference.steps_done, worker.steps_done))
            counting += not any(worker.record.disturbed_sides(pairs[-1]))
        reference.record = reference.record.but(reference=reference.record.id)
        worker.record = worker.record.but(reference=reference.record.id, pairs=pairs)
        for each in (reference, worker):
            each.finish()
    except CellFailed as failure:
        status, reason = failure.status, failure.reason
    finally:
        for each in running.values():
            if each.record.status != "ok":
                _end(each)
    records = [running[place].record for place in (0, 1)] if status == "ok" else [None, None]
    return TakenPair(
        key=cell.key,
        number=number,
        sides=sides,
        reference=records[0],
        worker=records[1],
        steps_done=steps_done if status == "ok" else [],
        status=status,
        reason=reason,
        wall_s=time.monotonic() - began,
    )


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


def _pairs(reference: WorkerRecord, worker: WorkerRecord) -> int:
    """How many pairs, by how long steps are once warm."""
    sides = [
        blocks.side(Experiment.from_json(each.experiment), each.warm_step_s)
        for each in (worker, reference)
    ]
    return max(blocks.pairs(PAIRS, sides[0], sides[1], PAIRS_S), 3)


def _require_memory(*experiments: Experiment) -> None:
    need = sum(memory_bytes(specs.settle(each)).total for each in experiments)
    free = available_memory()
    if need > free:
        both = f"{need / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free"
        raise CellFailed("out of memory", f"two workers beside each other need about {both}")


def _end(running: Running) -> None:
    try:
        running.of.lease.ask(End(worker=running.record.id), Ended)
    except CellFailed:
        return  # it is gone already
