"""A/A: cells that run their reference's own experiment. What their pairs differ by is noise."""

from __future__ import annotations

from collections.abc import Iterable

from cputrain.analysis import by_engine
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record.worker import WorkerRecord
from cputrain.results.rows import CellResult

SUITE = "Baseline"
"""The suite that is there for that alone: the same experiment in every cell."""


def is_identical(cell: CellResult) -> bool:
    """Whether a cell runs what its reference runs; also a baseline that its suite had before."""
    return cell.value == cell.key.baseline or cell.suite == SUITE


def engine(cell: CellResult) -> str | None:
    """What trains in a cell; None where its record does not say."""
    name = cell.experiment.get("runtime", {}).get("engine")
    return None if name is None else str(name)


def is_beside_other_release(cell: CellResult, base: CellResult | None) -> bool:
    """Whether what ran beside a cell is, or may be, of another release than its baseline's row.

    So it is where the cell's engine has an environment of its own, and its baseline's another one.

    Args:
        cell: of a suite.
        base: the baseline that its table has; None where there is none, which tells nothing.
    """
    own, usual = _stack(cell), specs.of(Experiment().runtime.engine).stack
    if own in (None, usual) or is_identical(cell):
        return False
    return base is None or _stack(base) != own


def _stack(cell: CellResult) -> str | None:
    """The environment that has a cell's engine; None where that is not known (any more)."""
    name = engine(cell)
    return specs.of(name).stack if name in specs.NAMES else None


def reference_engines(cells: Iterable[CellResult]) -> dict[str, str | None]:
    """By name, the engine of each cell's reference: of its baseline cell, else its own.

    An engine that is a parameter beside the variable has a baseline of its own.
    """
    by_name = {cell.name: cell for cell in cells}
    engines = {}
    for cell in by_name.values():
        base = by_name.get(f"{cell.suite}/{cell.key.baseline}")
        is_own = base is None or by_engine.engine(cell) is not None
        engines[cell.name] = engine(cell if is_own or base is None else base)
    return engines


def distinct(cells: Iterable[CellResult], earlier: bool = False) -> list[WorkerRecord]:
    """The workers of cells, each that ran once: copies of a record are left out.

    Args:
        cells: some of which may have the workers of others.
        earlier: those of other sessions than the cells' own.
    """
    ran: dict[tuple[object, ...], WorkerRecord] = {}
    for cell in cells:
        for worker in cell.earlier if earlier else cell.workers:
            ran.setdefault(what_ran(worker), worker)
    return list(ran.values())


def what_ran(worker: WorkerRecord) -> tuple[object, ...]:
    """What a worker and its copies have in common: a copy has a name of its own, and all else."""
    return worker.session, worker.started, worker.reference, tuple(worker.step_s)
