"""One worker of one cell, in the environment that has its engine; leaves a run record.

`python -m cputrain.run.one_worker` reads a `TurnRequest` from its standard input. It is told the
session and the machine as asv's processes are, by the environment.
"""

from __future__ import annotations

import contextlib
import sys

from cputrain.experiment import Experiment
from cputrain.record.cell import CellKey
from cputrain.record.part import Part, Parts
from cputrain.record.process import Turn
from cputrain.run import one_request, placement
from cputrain.run.cell import CellRun
from cputrain.run.failed import CellFailed
from cputrain.run.names import PARAMETERS, SUITE


class TurnRequest(Part, frozen=True, kw_only=True):
    """What to run: shape, engine, threads; and where it stands in the whole run."""

    values: tuple[str, str, int]
    experiment: Parts
    turn: Turn


def run(values: tuple[str, str, int], experiment: Experiment, turn: Turn) -> None:
    """Take a worker's samples; the record says what came of it.

    Of long steps there are fewer, as of a cell of a suite that is measured beside nothing: else a
    round of the larger shape took half an hour.

    Args:
        values: shape, engine, threads.
        experiment: what it runs.
        turn: goes to the record.
    """
    key = CellKey(SUITE, values, param_names=PARAMETERS)
    cell = CellRun(key, experiment, turn=turn, fresh=True)
    with contextlib.suppress(CellFailed, NotImplementedError):  # the record has the reason
        cell.refuse_if(placement.why_not(experiment))
        for _ in range(cell.begin(fewer=True)):
            cell.sample()
            cell.settle()


def main() -> int:
    """Serve one request."""
    request = one_request.read(TurnRequest)
    run(request.values, Experiment.from_json(request.experiment), request.turn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
