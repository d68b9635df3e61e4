"""The tables, with the suites' own descriptions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cputrain import paths
from cputrain.sweep import plan

if TYPE_CHECKING:
    from cputrain.report.export import Summary


def export() -> Summary:
    """Write every table and page under result/."""
    from cputrain.report.export import export as write

    suites = plan.discover()
    descriptions = {planned.name: planned.description for planned in suites}
    return write(paths.ROOT, descriptions, baselines(suites))


def baselines(suites: Iterable[plan.Planned]) -> dict[str, str | None]:
    """Identity of each suite's baseline experiment as it is run; None where there is none."""
    firsts = {planned.name: planned.baseline for planned in suites}
    return {name: cell.experiment.identity if cell else None for name, cell in firsts.items()}
