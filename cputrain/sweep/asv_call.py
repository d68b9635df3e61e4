"""One asv call: a conductor for its cells, asv itself, and what its cells tell meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from cputrain import environ, paths
from cputrain.errors import RunError
from cputrain.machine import processes
from cputrain.record.events import WorkerEnded
from cputrain.results import ended
from cputrain.run.cell import CellRun
from cputrain.run.conductor.client import Listening
from cputrain.run.failed import CellFailed
from cputrain.run.session import Session
from cputrain.sweep import asvenv, calls, plan
from cputrain.sweep.progress import Progress

PATIENCE_S = 0.5


class Ended(NamedTuple):
    """How an asv call ended: asv's exit status, or minus a signal; why the conductor was lost."""

    status: int
    why_lost: str | None = None


def run(
    call: calls.Call, asv: asvenv.Asv, session: Session, words: Sequence[str], progress: Progress
) -> Ended:
    """Run it to its end, and print its cells as they come.

    Args:
        call: its suites and name.
        asv: of their environment.
        session: what its processes are told, the file of events among it.
        words: arguments of `asv run`.
        progress: that prints.

    Raises:
        RunError: there is no conductor, or it cannot start what workers are forked from.
    """
    assert session.events is not None
    session.events.write_text("")
    try:
        conductor = Listening(asv.python(), session.to_env())
    except CellFailed as failure:
        raise RunError(failure.reason) from failure
    try:
        _expect(conductor, call, session)
        env = session.to_env() | {environ.CONDUCTOR: str(conductor.path)}
        process = asv.start(call.name, list(words), env)
        with session.events.open("rb") as events:
            lines = Events(events, progress)
            while process.poll() is None and conductor.why_lost() is None:
                lines.follow()
                processes.wait(process.pid, PATIENCE_S)
            if (why_lost := conductor.why_lost()) is not None:
                process.kill()  # every cell to come would fail
            status = process.wait()
            lines.end()
    finally:
        conductor.close()
    return Ended(status, why_lost)


def _expect(conductor: Listening, call: calls.Call, session: Session) -> None:
    """Have what forks the workers import its engine while asv starts: three seconds saved."""
    if (soon := call.forked_soon()) is not None:
        try:
            conductor.expect(session.run, soon)
        except CellFailed as failure:
            raise RunError(failure.reason) from failure


class Events:
    """What cells have told, line by line as they write it.

    A full disk takes half of a line, and the next cell goes on behind it: such a line is said to
    be broken, and nothing else is lost, as each cell's record says what came of it.

    Args:
        file: that they write, open to read bytes.
        progress: that prints them.
    """

    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self._file, self._progress = file, progress
        self._begun = b""

    def follow(self) -> None:
        """Print what was written since; a line without its end waits for it."""
        *lines, self._begun = (self._begun + self._file.read()).split(b"\n")
        for line in lines:
            self._print(line)

    def end(self) -> None:
        """Print the rest; nobody writes any more."""
        self.follow()
        if self._begun:
            self._print(self._begun)
        self._begun = b""

    def _print(self, line: bytes) -> None:
        try:
            event = msgspec.json.decode(line, type=WorkerEnded)
        except msgspec.DecodeError:
            where = f"a line of {self._file.name} broke off"
            self._progress.say(f"{where}, of a cell that is not shown here: see its record")
            return
        self._progress.event(event)


def record_deaths(planned: plan.Planned, session: Session, log: Path, progress: Progress) -> None:
    """Cells whose process died and could not say so itself: record and count them as failed.

    Args:
        planned: the suite.
        session: of the call.
        log: of asv, for who wants to know more.
        progress: that prints and counts.
    """
    folder = paths.output_folder(session.machine, session.mode) / planned.name
    here = {cell.name: cell for cell in planned.cells if cell.why_not is None}
    for name, reason in ended.without_number(folder, session.run, here, workers=1).items():
        session.enter()
        key = planned.suite.key(*here[name].values)
        CellRun(key, here[name].experiment).died(f"{reason}; see {log}")
        progress.died(planned.name, name, f"{reason}; see {log}")
