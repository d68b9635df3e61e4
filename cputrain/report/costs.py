"""A machine's costs: kept in .asv/costs/, learned again where its records have changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cputrain import paths
from cputrain.analysis.cost.costs import Costs
from cputrain.analysis.cost.predict import CALIBRATE
from cputrain.atomic import write_made
from cputrain.errors import UsageError
from cputrain.record import files
from cputrain.report import example, inputs

if TYPE_CHECKING:
    from cputrain.analysis.ends import CellRow
    from cputrain.results.machines import MachineFacts

FOLDER = "costs"


class KeptCosts(msgspec.Struct, frozen=True):
    """Costs, and the fingerprint of what they were learned from."""

    inputs: str
    costs: Costs | None


def of(root: Path, machine: str) -> Costs | None:
    """What is known of a machine; None where its rates were not measured.

    Raises:
        OSError: what was learned cannot be written.
    """
    now = inputs.fingerprint(root, machine, (FOLDER,))
    kept = _read(root, machine)
    if kept is not None and kept.inputs == now:
        return kept.costs
    # Only here: tables and least squares take longer to import than a prediction.
    from cputrain.analysis import effects
    from cputrain.results import machines, rows

    cells, _ = rows.read(root, machine)
    facts, _ = machines.read(root, machine)
    analysis = effects.analyse(cells, facts.peaks)
    return learned(root, list(zip(cells, analysis.rows, strict=True)), facts, now)


def needed(root: Path, machine: str) -> Costs:
    """As `of`, where nothing can be said without.

    Raises:
        UsageError: its rates were not measured, or the file that has them is damaged.
        OSError: what was learned cannot be written.
    """
    costs = of(root, machine)
    if costs is not None:
        return costs
    from cputrain.results import machines

    measured = root / paths.RESULT.name / machine / "machine.json"
    for problem in machines.read(root, machine)[1]:
        if problem.path == measured:
            raise UsageError(str(problem))
    raise UsageError(f"no peak and no bandwidth of this machine were measured yet; {CALIBRATE}")


def learned(
    root: Path, cells: Sequence[CellRow], facts: MachineFacts, now: str | None = None
) -> Costs | None:
    """What the cells of a machine tell, which is kept.

    Args:
        now: fingerprint of its inputs, where it is known.
    """
    from cputrain.analysis.cost import learn

    costs = learn.learn(cells, facts)
    fingerprint = inputs.fingerprint(root, facts.name, (FOLDER,)) if now is None else now
    write_made(_path(root, facts.name), msgspec.json.encode(KeptCosts(fingerprint, costs)))
    return costs


def _read(root: Path, machine: str) -> KeptCosts | None:
    try:
        return msgspec.json.decode(files.read_bytes(_path(root, machine)), type=KeptCosts)
    except (OSError, ValueError, RecursionError):
        return None  # it is learned again, and that is all that is lost


def _path(root: Path, machine: str) -> Path:
    if root == paths.PROJECT / example.FOLDER:  # comes with the project: nothing is written there
        return paths.STATE / FOLDER / f"{example.FOLDER}.json"
    return root / paths.STATE.name / FOLDER / f"{machine}.json"
