"""Settings of the whole machine that a cell and its reference ask for, each while it runs."""

from __future__ import annotations

import msgspec

from cputrain.experiment import Experiment
from cputrain.machine.controls import changes
from cputrain.machine.controls.changes import Changes
from cputrain.machine.controls.control import ControlError
from cputrain.record.process import Change
from cputrain.run.failed import CellFailed
from cputrain.worker.blocks import Side


class MachineSettings:
    """Sets them and puts them back, as often as the cell and its reference take turns.

    Args:
        experiment: of the cell.
        reference: what runs beside it; None where nothing does.

    Attributes:
        side: whose settings stand; None where nobody's do.
    """

    def __init__(self, experiment: Experiment, reference: Experiment | None = None) -> None:
        self._of: dict[Side, Experiment] = {"cell": experiment}
        if reference is not None:
            self._of["reference"] = reference
        self.side: Side | None = None
        self._changes: Changes | None = None
        self._of_cell: Changes | None = None

    @property
    def record(self) -> list[Change]:
        """The changes that stand for the cell, or were the last to be put back."""
        if self._of_cell is None:
            return []
        return msgspec.convert(self._of_cell.record, list[Change])

    def set(self, side: Side) -> None:
        """Set what one side asks for, where it is not set; what the other one has goes first.

        Raises:
            CellFailed: a setting was lost, could not be put back, or cannot be set.
        """
        self.require()
        stays = self.side is not None and self._of[side].system == self._of[self.side].system
        if not stays and (problem := self.put_back()) is not None:
            raise CellFailed("failed", problem)
        wanted = self._changes or changes.changes_of(self._of[side])
        if side == "cell":
            self._of_cell = wanted
        if self._changes is None:
            self._changes = wanted
            try:
                wanted.apply()
            except ControlError as error:
                raise CellFailed("failed", str(error)) from error
        self.side = side

    def require(self) -> None:
        """Raise CellFailed where somebody else has changed a setting meanwhile."""
        if self._changes is not None and (lost := self._changes.lost()) is not None:
            raise CellFailed("failed", lost)

    def put_back(self) -> str | None:
        """Put back what is set; one line about the first file that could not be."""
        not_restored = [] if self._changes is None else self._changes.put_back()
        self._changes = self.side = None
        if not not_restored:
            return None
        return f"the machine is NOT as it was: {not_restored[0]}; python3 bench.py restore"
