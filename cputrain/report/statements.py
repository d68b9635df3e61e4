"""What the first screen is made of; a sentence that no row backs cannot be made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cputrain.report import words

if TYPE_CHECKING:
    from cputrain.analysis.ends import Measured
    from cputrain.results.columns import Row


@dataclass(frozen=True)
class Statement:
    """A sentence and the rows that it is made of.

    Raises:
        ValueError: there are none.
    """

    text: str
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError(f"a statement that no row backs: {self.text}")


@dataclass(frozen=True)
class StatedChange:
    """A value that trains the same model faster than the baseline does.

    Attributes:
        what: "precision: bf16 instead of fp32".
        paste: lines that have it in a script of one's own; see `paste`.
        entry: the cell and its effect.
        is_confirmed: see `analysis.ends.is_confirmed`.
    """

    what: str
    paste: tuple[str, ...]
    entry: Measured
    is_confirmed: bool

    @property
    def effect(self) -> str:
        """The time over the baseline's: "0.617x [0.543, 0.711]"."""
        return words.effect(self.entry.effect, self.entry.low, self.entry.high)


@dataclass(frozen=True)
class Answers:
    """What the first screen says of one machine.

    Attributes:
        baseline: what a step takes, and what that means; None where no baseline has a number.
        changes: that pay most at unchanged work, the surest first.
        none_pays: said where settings were measured and none is faster.
        slower: what costs most at unchanged work, the surest first.
        alike: what does not matter here.
        open: what could not be told, and how long it would take.
        lost: what gave no number although this machine can run it.
        not_run: what this machine cannot run.
    """

    baseline: Statement | None
    changes: tuple[StatedChange, ...]
    none_pays: Statement | None
    slower: Statement | None
    alike: Statement | None
    open: Statement | None
    lost: Statement | None
    not_run: Statement | None

    @property
    def others(self) -> list[Statement]:
        """The sentences after the baseline's and the changes, in order."""
        every = (self.none_pays, self.slower, self.alike, self.open, self.lost, self.not_run)
        return [statement for statement in every if statement is not None]
