"""Runs pairs and demonstrations, each in a process of its own in the measured environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cputrain import environ, paths
from cputrain.analysis.claims.claim import ClaimPair, Demonstration
from cputrain.record import files
from cputrain.record.altered import SCHEMA, Altered, path
from cputrain.record.part import Part
from cputrain.record.process import Turn
from cputrain.record.worker import WorkerRecord
from cputrain.results import records
from cputrain.run import altered, names, one_pair, stacks
from cputrain.run.session import Session
from cputrain.sweep.one_request import ProcessEnd, RequestProcess


class Processes:
    """Starts them, and finds what they left.

    Args:
        python: the interpreter of the measured environment.
        session: what they are told.
    """

    def __init__(self, python: Path, session: Session) -> None:
        self.python, self.session = python, session
        self.folder = paths.output_folder(session.machine, session.mode) / names.CLAIMS
        self.taken = 0

    def pair(self, pair: ClaimPair, number: int, conductor: Path) -> WorkerRecord | str:
        """One pass of a pair.

        Args:
            pair: what runs.
            number: of the pass.
            conductor: the socket of the one that has the references.

        Returns:
            Its record, or why there is none.
        """
        self.taken += 1
        turn = Turn(round=number, place=self.taken, seed=0)
        request = one_pair.PairRequest(
            values=pair.values,
            experiment=pair.experiment.but(samples=pair.blocks).to_json(),
            reference=pair.reference.to_json(),
            turn=turn,
        )
        session = replace(self.session, number=number)
        env = session.to_env() | {environ.CONDUCTOR: str(conductor)}
        ended = self._serve(one_pair.__name__, request, env)
        workers = [w for w in self.workers(pair) if w.run == self.session.run and w.turn == turn]
        if not workers or workers[-1].status == "unproven":
            return f"its process left no result: {ended}"
        return workers[-1]

    def demonstration(self, what: Demonstration) -> Altered | str:
        """Run a demonstration; its record, or why there is none."""
        request = altered.AlteredRequest(
            name=what.name,
            experiment=what.experiment.to_json(),
            reference=what.reference.to_json(),
            is_fault=what.is_fault,
            blocks=what.blocks,
        )
        ended = self._serve(altered.__name__, request, self.session.to_env())
        record = self.demonstrated(what)
        if isinstance(record, str) or record.session != self.session.id:
            return f"its process left no record: {ended}"
        return record

    def workers(self, pair: ClaimPair) -> list[WorkerRecord]:
        """Those of this session in a pair's record, oldest first."""
        record = records.read_file(self.folder / pair.name / records.FILE)
        if isinstance(record, records.Problem):
            return []
        return [worker for worker in record.workers if worker.session == self.session.id]

    def demonstrated(self, what: Demonstration) -> Altered | str:
        """The record of a demonstration, or why there is none."""
        try:
            return files.read(path(paths.OUTPUT, self.session.machine, what.name), Altered, SCHEMA)
        except OSError as error:
            return str(error.strerror)
        except files.RecordError as error:
            return str(error)

    def _serve(self, module: str, request: Part, env: Mapping[str, str]) -> ProcessEnd:
        return RequestProcess(self.python, module, env, stacks.MAIN).serve(request)
