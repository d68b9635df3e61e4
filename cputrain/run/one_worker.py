"""One worker of one cell, in the environment that has its engine; leaves a run record.

`python -m cputrain.run.one_worker` reads one JSON object from its standard input: values,
experiment, turn (round, place, seed: kept in the record). It is told the session and the machine
as asv's processes are, by the environment. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

from cputrain.experiment import Experiment
from cputrain.machine.parent import die_with_parent
from cputrain.run import placement
from cputrain.run.cell import CellRun
from cputrain.run.launch import CellFailed
from cputrain.run.names import SUITE


def run(values: tuple[Any, ...], experiment: Experiment, turn: dict[str, Any]) -> None:
    """Take a worker's samples as asv does; the record says what came of it.

    Args:
        values: shape, engine, threads.
        experiment: what it runs.
        turn: goes to the record.
    """
    cell = CellRun(SUITE, values, experiment)
    cell.record["turn"] = turn
    with contextlib.suppress(CellFailed, NotImplementedError):  # the record has the reason
        cell.refuse_if(placement.why_not(experiment))
        for _ in range(experiment.budget.samples):
            cell.sample()
            cell.settle()


def main() -> int:
    """Serve one request."""
    die_with_parent()
    request = json.loads(sys.stdin.read())
    experiment = Experiment.from_json(request["experiment"])
    run(tuple(request["values"]), experiment, request["turn"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
