"""Runs the turns one after the other, each in a process of its own, and says how they went."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain.record.process import Turn
from cputrain.record.worker import WorkerRecord
from cputrain.results import records
from cputrain.run import one_worker, stacks
from cputrain.run.session import Session
from cputrain.sweep import plan
from cputrain.sweep.durations import guess_s
from cputrain.sweep.one_request import RequestProcess
from cputrain.sweep.side_by_side.lineup import PlannedTurn


@dataclass(frozen=True)
class Lost:
    """Why a turn gave no number."""

    status: str
    reason: str


class Rounds:
    """One run: its session, and what became of each cell.

    Args:
        folder: of the records: output/<machine>/engines.
        pythons: the interpreter of each environment that is built (see `stacks`).
        session: what its processes are told.
        seed: of the order.

    Attributes:
        lost: cells that gave no number or were skipped, and why; they take no further turns.
        done: workers that gave a number.
    """

    def __init__(
        self,
        folder: Path,
        pythons: Mapping[str, Path],
        session: Session,
        seed: int,
    ) -> None:
        self.folder, self.pythons, self.session, self.seed = folder, pythons, session, seed
        self.lost: dict[tuple[object, ...], tuple[str, str]] = {}
        self.done = 0
        self.process: RequestProcess | None = None

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
        took: dict[tuple[object, ...], float] = {}
        for index, turn in enumerate(turns):
            values = turn.cell.values
            if values in self.lost:
                continue
            started = time.monotonic()
            worker = self.take_turn(turn)
            took[values] = time.monotonic() - started
            left = sum(
                took.get(later.cell.values) or guess_s(later.cell.experiment, fewer=True)
                for later in turns[index + 1 :]
                if later.cell.values not in self.lost
            )
            say(turn, worker, left)

    def take_turn(self, turn: PlannedTurn) -> WorkerRecord | Lost:
        """Take one turn; what its run record says, or why there is none."""
        cell = turn.cell
        if cell.stack not in self.pythons:
            reason = cell.why_not or stacks.why_elsewhere(cell.experiment, stacks.MAIN)
            return self._lose(cell, "skipped", reason or f"there is no environment {cell.stack}")
        place = Turn(round=turn.round, place=turn.place, seed=self.seed)
        request = one_worker.TurnRequest(
            values=cell.values, experiment=cell.experiment.to_json(), turn=place
        )
        python, env = self.pythons[cell.stack], self.session.to_env()
        self.process = RequestProcess(python, one_worker.__name__, env, cell.stack)
        ended, self.process = self.process.serve(request), None
        worker = next((w for w in self.workers(cell) if w.turn == place), None)
        if ended.status or worker is None or worker.status == "unproven":
            return self._lose(cell, "failed", f"its process ended with {ended}")
        if not worker.ok:
            return self._lose(cell, worker.status, worker.reason or "the record gives no reason")
        self.done += 1
        return worker

    def _lose(self, cell: plan.PlannedCell, status: str, reason: str) -> Lost:
        self.lost[cell.values] = status, reason
        return Lost(status, reason)

    def workers(self, cell: plan.PlannedCell) -> list[WorkerRecord]:
        """The workers of this run in a cell's record, oldest first; none where it is broken."""
        record = records.read_file(self.folder / cell.name / "run.json")
        if isinstance(record, records.Problem):
            return []
        return [worker for worker in record.workers if worker.session == self.session.id]
