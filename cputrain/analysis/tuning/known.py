"""What a machine's records say of single changes, before anything of a tuning runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cputrain.analysis import identical, unchanged
from cputrain.analysis.counted import counted
from cputrain.analysis.effects import Analysis
from cputrain.analysis.ends import interval, log_sd
from cputrain.analysis.paired.model import Pass
from cputrain.experiment import Experiment, same_work
from cputrain.experiment.runtime import PLAIN
from cputrain.results.rows import CellResult

USUAL_SD = 0.05
"""How much what a change gives differs from what is usual: standard deviation of the logarithm."""


@dataclass(frozen=True)
class Known:
    """The effect of a change that trains the same, on the model of some suite.

    Attributes:
        engine: of the reference.
        changes: fields that differ from the reference's, by name.
        value, low, high: time over the reference's, with its interval: of 99 % for a cell's effect,
            of 90 % for a race.
        is_told: whether the rules of effects call it faster or slower, or a race has more than
            one block of it: an interval may be of one pair, or of a worker that was not steady.
        passes: of a cell that it comes from; None of a race.
    """

    engine: str
    changes: Mapping[str, Any]
    value: float
    low: float
    high: float
    is_told: bool
    passes: int | None = None

    def says(self, experiment: Experiment, reference: Experiment) -> bool:
        """Whether it is the change from one settled experiment to another."""
        if reference.runtime.engine != self.engine:
            return False
        return _plainly(changes(experiment, reference)) == _plainly(self.changes)

    def expected(self, usual: float) -> float:
        """The time that is to be expected, over the reference's: a record with a wide interval says
        little. The mean of both logarithms, weighted by how exact they are (Gelman et al., Bayesian
        Data Analysis, 3rd ed., section 2.5); a race's interval, of 90 %, is taken as one of 99 %.

        Args:
            usual: what would be expected without a record.
        """
        sd = log_sd(self.low, self.high, self.passes)
        share = USUAL_SD**2 / (USUAL_SD**2 + sd**2)
        return math.exp(share * math.log(self.value) + (1 - share) * math.log(usual))


def changes(experiment: Experiment, reference: Experiment) -> dict[str, Any]:
    """The fields in which one settled experiment differs from another, but for the budget."""
    return _differing(experiment.to_json(), reference.to_json())


def _differing(experiment: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, Any]:
    parts = same_work.differing(experiment, reference)
    return {name: v for part, f in parts.items() if part != "budget" for name, v in f.items()}


def _plainly(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Without what another engine does by itself."""
    if "engine" not in changes:
        return dict(changes)
    return {name: value for name, value in changes.items() if name not in PLAIN}


def known(analysis: Analysis) -> list[Known]:
    """What the cells of a machine say, those with an interval."""
    made = []
    for setting in unchanged.settings(list(zip(analysis.cells, analysis.rows, strict=True))):
        base, row = setting.base.experiment, setting.row
        value, (low, high) = row["effect"], interval(row)
        if value is None or low is None or high is None:
            continue
        engine = str(base.get("runtime", {}).get("engine"))
        differing = _differing(setting.cell.experiment, base)
        is_told = row["verdict"] in ("faster", "slower")
        made.append(Known(engine, differing, value, low, high, is_told, row["passes"]))
    return made


def identical_passes(cells: Sequence[CellResult], engine: str) -> list[Pass]:
    """Every A/A pass of an engine in the records of a machine."""
    alike = [c for c in cells if identical.is_identical(c) and identical.engine(c) == engine]
    workers = [w for flag in (False, True) for w in identical.distinct(alike, earlier=flag)]
    return list(counted(workers).passes)
