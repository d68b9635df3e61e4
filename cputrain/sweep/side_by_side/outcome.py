"""From a run's pairs to its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain import paths
from cputrain.analysis.side_by_side import ratios
from cputrain.analysis.side_by_side.ratios import Measured
from cputrain.record.cell import CellKey
from cputrain.record.worker import step_s
from cputrain.results import engines, machines
from cputrain.results.columns import Row
from cputrain.results.records import Problem
from cputrain.results.rows import CellResult
from cputrain.run.names import PARAMETERS
from cputrain.sweep import plan
from cputrain.sweep.side_by_side.rounds import Rounds


@dataclass(frozen=True)
class Written:
    """The table that was written, and what could not be believed or read."""

    path: Path
    rows: list[Row]
    problems: list[Problem]


def cells(machine: str, mode: str, blocks: Sequence[plan.Planned], run: Rounds) -> list[Measured]:
    """The run's cells as the tables take them, shape by shape, thread counts ascending."""
    return [_cell(machine, mode, cell, run) for block in blocks for cell in block.cells]


def _cell(machine: str, mode: str, cell: plan.PlannedCell, run: Rounds) -> Measured:
    shape, engine, _ = cell.values
    pairs = run.taken.get(cell.values, [])
    workers = tuple(pair.worker for pair in pairs if pair.worker is not None)
    lost = run.lost.get(cell.values)
    if lost is None and not workers:
        lost = run.without[cell.values]
    cell_result = CellResult(
        machine=machine,
        key=CellKey(shape, cell.values, param_names=PARAMETERS),
        value=engine,
        mode=mode,
        status="ok" if lost is None else lost.status,
        reason=None if lost is None else lost.reason,
        step_s=step_s(workers) if lost is None else None,
        workers=workers,
        experiment=cell.experiment.to_json(),
        commit=workers[-1].commit if workers else None,
    )
    return Measured(cell_result, pairs)


def write(machine: str, mode: str, cells: Sequence[Measured]) -> Written:
    """Write result/<machine>/engines.csv, or a quick run's.

    Raises:
        OSError: it cannot be written, and is as it was before.
    """
    facts, problems = machines.read(paths.ROOT, machine)
    folder = paths.RESULT / machine
    results = [each.cell for each in cells]
    peaks, low = machines.believable(facts.peaks, results, folder / "machine.json")
    rows = ratios.analyse(cells, peaks)
    path = folder / paths.ENGINES[mode]
    engines.write(path, rows)
    return Written(path, rows, [*problems, *low])
