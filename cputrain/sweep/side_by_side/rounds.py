"""Takes the turns: a fresh worker of each engine beside one of torch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cputrain.engines import specs
from cputrain.record.cell import CellKey
from cputrain.record.files import RecordError
from cputrain.record.part import Status
from cputrain.record.process import Turn
from cputrain.record.releases import TakenPair
from cputrain.record.worker import WorkerRecord
from cputrain.run import recording, references, stacks
from cputrain.run.failed import CellFailed
from cputrain.run.names import FIRST, PARAMETERS, SUITE
from cputrain.sweep.durations import guess_s
from cputrain.sweep.paired import running
from cputrain.sweep.paired.conducted import Conducted
from cputrain.sweep.paired.running import Running
from cputrain.sweep.side_by_side.lineup import PlannedTurn

Values = tuple[object, ...]


@dataclass(frozen=True)
class Lost:
    """Why a turn gave no number."""

    status: Status
    reason: str


@dataclass
class Rounds:
    """One run, and what became of each cell.

    Torch's worker is a fresh one in each round, for each shape and number of threads; all engines
    of that round are measured beside it.

    Attributes:
        folder: of the records: output/<machine>/engines.
        of: the conductor of each environment that is built, by its name (see `stacks`).
        seed: of the order.
        lost: cells that gave no number or were skipped, and why; they take no further turns.
        without: cells whose last turn gave no number as torch beside them gave none.
        taken: by cell, its workers with what ran beside them, in the order of time.
    """

    folder: Path
    of: Mapping[str, Conducted]
    seed: int
    lost: dict[Values, Lost] = field(default_factory=dict)
    without: dict[Values, Lost] = field(default_factory=dict)
    taken: dict[Values, list[TakenPair]] = field(default_factory=dict)
    _references: dict[str, WorkerRecord] = field(default_factory=dict)
    _failures: dict[object, CellFailed] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Workers that gave a number."""
        return sum(map(len, self.taken.values()))

    def take(
        self,
        turns: Sequence[PlannedTurn],
        say: Callable[[PlannedTurn, WorkerRecord | Lost, float], None],
    ) -> None:
        """Take every turn of cells that are not lost.

        Args:
            turns: in their order.
            say: told of each turn taken: what the record says, and seconds that are left.
        """
        took: dict[Values, float] = {}
        for index, turn in enumerate(turns):
            values = turn.cell.values
            if values in self.lost:
                continue
            began = time.monotonic()
            worker = self.take_turn(turn)
            took[values] = time.monotonic() - began
            left = sum(
                took.get(later.cell.values) or guess_s(later.cell.experiment, later.reference)
                for later in turns[index + 1 :]
                if later.cell.values not in self.lost and self._why_not(later) is None
            )
            say(turn, worker, left)

    def take_turn(self, turn: PlannedTurn) -> WorkerRecord | Lost:
        """Take one turn; what its run record says, or why there is none."""
        if (reason := self._why_not(turn)) is not None:
            self.lost[turn.cell.values] = lost = Lost("skipped", reason)
            return lost
        try:
            reference = self._reference(turn)
        except CellFailed as failure:
            return self._without(turn, failure)
        return self._pairs(turn, reference)

    def _why_not(self, turn: PlannedTurn) -> str | None:
        """Why its cell cannot run here; None where it can."""
        cell = turn.cell
        if cell.why_not is None and cell.stack not in self.of:
            return stacks.why_elsewhere(cell.experiment, stacks.MAIN)
        return cell.why_not

    def _reference(self, turn: PlannedTurn) -> Running:
        """Torch's worker of this turn's block, with its record. Raises CellFailed."""
        if (known_failure := self._failures.get(turn.block)) is not None:
            raise known_failure
        for of in self.of.values():  # a block that begins has fresh workers alone
            of.run = f"{of.session.run}-{'-'.join(map(str, turn.block))}"
        try:
            reference = running.refer(self.of[stacks.MAIN], specs.settle(turn.reference))
            if (known := self._references.get(reference.record.id)) is not None:
                reference.record = known
            else:
                self._save_reference(turn, reference.record)
        except CellFailed as failure:
            self._failures[turn.block] = failure
            raise
        return reference

    def _save_reference(self, turn: PlannedTurn, record: WorkerRecord) -> None:
        key = _key(turn)
        try:
            references.save(self.folder / key.name, key, record)
        except (OSError, RecordError) as error:
            raise CellFailed("failed", str(error)) from error
        self._references[record.id] = record

    def _pairs(self, turn: PlannedTurn, reference: Running) -> WorkerRecord | Lost:
        """A fresh worker in turns with torch's."""
        of, experiment = self.of[turn.cell.stack], specs.settle(turn.cell.experiment)
        place = Turn(round=turn.round, place=turn.place, seed=self.seed)
        record = recording.opened(of.session, experiment, place)
        worker: Running | None = None
        try:
            running.require_memory(experiment)
            worker = running.start(of, experiment, place)
            steps_done = running.take_pairs(reference, worker)
            worker.finish()
            self._save(turn, worker.record)
        except CellFailed as failure:
            if reference.failure is not None:
                return self._without(turn, failure)
            record = record if worker is None else worker.record
            return self._lose(turn, record, Lost(failure.status, failure.reason))
        except (OSError, RecordError) as error:  # the record could not be written
            self.lost[turn.cell.values] = lost = Lost("failed", str(error))
            return lost
        finally:
            if worker is not None:
                worker.end()
        pair = TakenPair(
            key=_key(turn),
            number=turn.round,
            sides=(0, 0 if turn.cell.values[1] == FIRST else 1),
            reference=reference.record,
            worker=worker.record,
            steps_done=steps_done,
            status="ok",
            wall_s=worker.record.wall_s or 0.0,
        )
        self.taken.setdefault(turn.cell.values, []).append(pair)
        return worker.record

    def _save(self, turn: PlannedTurn, record: WorkerRecord) -> None:
        key = _key(turn)
        recording.save(self.folder / key.name, key, record)

    def _lose(self, turn: PlannedTurn, record: WorkerRecord, lost: Lost) -> Lost:
        """Keep the record of a worker that gave no number; its cell takes no further turns."""
        self.lost[turn.cell.values] = lost
        try:
            self._save(turn, record.but(status=lost.status, reason=lost.reason))
        except (OSError, RecordError) as error:
            return Lost(lost.status, f"{lost.reason}; its record: {error}")
        return lost

    def _without(self, turn: PlannedTurn, failure: CellFailed) -> Lost:
        """No number, through no fault of the cell: it takes its further turns."""
        lost = Lost(failure.status, failure.reason)
        self.without[turn.cell.values] = lost
        return lost


def _key(turn: PlannedTurn) -> CellKey:
    shape, _, threads = turn.cell.values
    first = CellKey(SUITE, (shape, FIRST, threads), param_names=PARAMETERS)
    return CellKey(SUITE, turn.cell.values, param_names=PARAMETERS, baseline=first.name)
