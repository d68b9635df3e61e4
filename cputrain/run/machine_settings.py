"""Settings of the whole machine that a cell asks for: set for its blocks, not its reference's."""

from __future__ import annotations

import msgspec

from cputrain.experiment import Experiment
from cputrain.machine.controls import wanted
from cputrain.machine.controls.changes import Changes
from cputrain.machine.controls.files import ControlError
from cputrain.record.process import Change
from cputrain.run.failed import CellFailed


class MachineSettings:
    """Sets them and puts them back, as often as the cell and its reference take turns.

    Attributes:
        record: of the changes that stand, or were the last to be put back.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._changes: Changes | None = None
        self.record: list[Change] = []

    def set(self) -> None:
        """Set what the experiment asks for, where it is not set.

        Raises:
            CellFailed: it cannot be set.
        """
        if self._changes is not None:
            return
        self._changes = wanted.changes_of(self._experiment)
        try:
            self._changes.apply()
        except ControlError as error:
            raise CellFailed("failed", str(error)) from error
        finally:
            self._note()

    def require(self) -> None:
        """Raise CellFailed where somebody else has changed a setting meanwhile."""
        if self._changes is not None and (lost := self._changes.lost()) is not None:
            raise CellFailed("failed", lost)

    def leave_to_the_reference(self) -> None:
        """Put back what is set, so that the reference runs on the machine as it was.

        Raises:
            CellFailed: a setting was lost, or could not be put back.
        """
        if self._changes is None or not self.record:
            return
        self.require()
        if (problem := self.put_back()) is not None:
            raise CellFailed("failed", problem)

    def put_back(self) -> str | None:
        """Put back what is set; one line about the first file that could not be."""
        not_restored = [] if self._changes is None else self._changes.put_back()
        self._note()
        self._changes = None
        if not not_restored:
            return None
        return f"the machine is NOT as it was: {not_restored[0]}; python3 bench.py restore"

    def _note(self) -> None:
        if self._changes is not None:
            self.record = msgspec.convert(self._changes.record, list[Change])
