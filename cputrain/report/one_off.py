"""What is paid once in a run: importing an engine, its first step, compiling. Plain seconds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cputrain.analysis import by_engine
from cputrain.analysis.ends import CellRow
from cputrain.results.columns import Row


@dataclass(frozen=True)
class Start:
    """What the workers of one engine pay before their first usual step.

    Attributes:
        compile: what compiles the step, as the experiments say.
        cells: that the seconds are the medians of.
        import_s, first_step_s: None where no record says.
    """

    engine: str
    compile: str
    cells: int
    import_s: float | None
    first_step_s: float | None


@dataclass(frozen=True)
class FirstStep:
    """A cell that times a first step."""

    suite: str
    value: str
    engine: str
    seconds: float


def starts(rows: Iterable[Row]) -> list[Start]:
    """By engine and what compiles, in their order; each cell that ran, once."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        is_own = row["status"] == "ok" and row["same_as"] is None  # else counted where it ran
        if is_own and row["engine"] and row["jit_state"] == "steady":
            groups.setdefault((row["engine"], row["compile"] or "none"), []).append(row)
    return [
        Start(
            *group,
            cells=len(its),
            import_s=_median(its, "import_s"),
            first_step_s=_median(its, "first_step_s"),
        )
        for group, its in groups.items()
    ]


def first_steps(cells: Iterable[CellRow]) -> list[FirstStep]:
    """The cells that time a first step, in their order."""
    return [
        FirstStep(cell.suite, by_engine.setting(cell), row["engine"] or "", row["step_s"])
        for cell, row in cells
        if row["status"] == "ok" and row["jit_state"] not in (None, "steady")
    ]


def _median(rows: Sequence[Row], name: str) -> float | None:
    known = [row[name] for row in rows if row[name] is not None]
    return statistics.median(known) if known else None
