"""What every verb that measures has in common: lock, set-up, signals, closing measurement."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Protocol

from cputrain.machine import lock, registry
from cputrain.machine.controls import journal, leftover
from cputrain.run.session import Session
from cputrain.sweep import asvenv, disturbing, other_commits, plan, prepare, stopping
from cputrain.sweep.progress import Progress


class Measurement(Protocol):
    """What one verb measures; `drive` does the rest.

    Attributes:
        uses_peak: whether its tables divide by the machine's peak, which is measured again then.
        progress: prints, and counts what failed.
        session: as `begin` has left it.
    """

    uses_peak: bool
    progress: Progress
    session: Session

    def choose(self) -> list[plan.Planned]:
        """The suites and cells that it takes. Raises UsageError."""

    def begin(self, session: Session) -> None:
        """Give the session its name, and say what will be done."""

    def measure(self, asv: asvenv.Asv) -> None:
        """Run the cells; environment, data and the machine's rates are there."""

    def end(self) -> None:
        """Write the tables, and print them."""

    def stopped(self) -> str:
        """One line: what is kept of a measurement that was stopped."""


def drive(measurement: Measurement, session: Session) -> int:
    """Measure; 1 where some cell failed.

    Args:
        measurement: of one verb.
        session: as the command line has it.

    Raises:
        UsageError: what was asked cannot be.
        RunError: a step of the set-up, or asv, failed.
    """
    progress = measurement.progress
    session.enter()
    suites = measurement.choose()  # nobody waits for a pattern that takes long to match
    held = lock.hold()
    if (lines := leftover.put_back(journal.path())) is not None:
        for line in lines:
            progress.say(f"left over from an earlier run: {line}")
        suites = measurement.choose()  # what can run depends on what is set
    prepare.folders()
    registered = registry.register()
    progress.say(registered.note or "")
    progress.say(other_commits.dirty() or "")
    measurement.begin(replace(session, machine=registered.name))
    stopping.install(lambda: _stopped(measurement))
    asv = asvenv.Asv(session.mode, registered.name)
    try:
        prepare.everything(asv, suites, session.offline, progress)
        for line in disturbing.lines():
            progress.say(line)
        measurement.measure(asv)
        if session.mode == "full" and measurement.uses_peak:
            cells = prepare.runnable(suites)
            prepare.measure_peak(asv.machine, asv.python(), cells, progress, again=True)
        progress.close()
        measurement.end()
    finally:
        progress.close()
        held.close()
    return 1 if progress.failed else 0


def _stopped(measurement: Measurement) -> str:
    """End what was started, wait until the machine is as it was; what is kept."""
    changed = journal.path().exists()
    stopping.end_children()
    with contextlib.suppress(OSError, RuntimeError):  # it was hung up; the signal broke into a line
        measurement.progress.close()
    if changed:
        stopping.tell(leftover.wait(journal.path()))
    return f"stopped; {measurement.stopped()}"
