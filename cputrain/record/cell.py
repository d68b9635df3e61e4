"""A cell: what tables need to know of it, and what all its workers left."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from cputrain import paths
from cputrain.record.part import Integer, Number, Part
from cputrain.record.worker import WorkerRecord

SCHEMA: Literal[6] = 6
"""Raise it with every change of a record's fields. Schemas 2, without pairs, to 5 are read; others
are refused in one line."""

Value = bool | Integer | Number | str | None

ENGINE = "engine"
"""The parameter that says what trains."""


class CellKey(Struct, frozen=True, forbid_unknown_fields=True):
    """One cell of a suite.

    Attributes:
        suite: the class's name.
        values: of its parameters; their names are `param_names`.
        area: what the suite's file is about.
        description: the suite's docstring, in one paragraph.
        baseline: `name` of the cell that this one is compared with; None where there is none.
        index: its place among the suite's cells, from 0.
    """

    suite: Annotated[str, Meta(pattern=r"^[^\W\d]\w*$", max_length=200)]
    values: Annotated[tuple[Value, ...], Meta(min_length=1)]
    param_names: tuple[str, ...] = ()
    area: str = ""
    description: str = ""
    baseline: str | None = None
    index: Annotated[int, Meta(ge=0, le=10**6)] = 0

    @property
    def name(self) -> str:
        """As in tables and folders."""
        return paths.cell_name(self.values)

    @property
    def is_baseline(self) -> bool:
        """Whether the suite's cells are compared with this one."""
        return self.name == self.baseline

    @property
    def engine_place(self) -> int | None:
        """The engine's place among the parameters; None where it is none beside the variable."""
        names = self.param_names
        return names.index(ENGINE) if len(names) > 1 and ENGINE in names else None

    @property
    def engine(self) -> str | None:
        """Its engine; None where that is no parameter beside the variable, or not known."""
        place = self.engine_place
        if place is None or len(self.values) != len(self.param_names):
            return None
        return str(self.values[place])


class CellRecord(Part, frozen=True, kw_only=True):
    """A cell's run record: one file. `workers` oldest first."""

    schema: Literal[2, 3, 4, 5, 6] = SCHEMA
    key: CellKey
    workers: list[WorkerRecord]

    def sessions(self) -> list[list[WorkerRecord]]:
        """The workers by session, the newest session first."""
        by_session: dict[str, list[WorkerRecord]] = {}
        for worker in self.workers:
            by_session.setdefault(worker.session, []).append(worker)
        return list(by_session.values())[::-1]
