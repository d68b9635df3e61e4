"""One pass of one pair of experiments that decides a claim: a worker beside its reference.

`python -m cputrain.run.one_pair` reads a `PairRequest` from its standard input, in the environment
that has the engines. It is told session, machine and conductor as asv's processes are.
"""

from __future__ import annotations

import contextlib
import sys

from msgspec import structs

from cputrain.experiment import Experiment
from cputrain.paths import cell_name
from cputrain.record.cell import CellKey
from cputrain.record.part import Part, Parts
from cputrain.record.process import Turn
from cputrain.run import one_request
from cputrain.run.cell import CellRun
from cputrain.run.failed import CellFailed
from cputrain.run.names import AGAIN_BESIDE, CLAIM_PARAMETERS, CLAIMS


class PairRequest(Part, frozen=True, kw_only=True):
    """What to run.

    Attributes:
        values: what the reference is called, and what the experiment has in its place.
        experiment: with as many samples as the pass has pairs.
        turn: its place among all that were run.
    """

    values: tuple[str, str]
    experiment: Parts
    reference: Parts
    turn: Turn


def run(request: PairRequest) -> None:
    """Take the samples as asv does; the record says what came of it."""
    name = cell_name((request.values[0], AGAIN_BESIDE))
    again = CellKey(
        CLAIMS,
        (request.values[0], AGAIN_BESIDE),
        param_names=CLAIM_PARAMETERS,
        baseline=name,
    )
    cell = CellRun(
        structs.replace(again, values=request.values),
        Experiment.from_json(request.experiment),
        turn=request.turn,
        reference=Experiment.from_json(request.reference),
        baseline=again,
    )
    with contextlib.suppress(CellFailed, NotImplementedError):  # the record has the reason
        cell.refuse_where_it_cannot_run()
        for _ in range(cell.experiment.budget.samples):
            cell.sample()
            cell.settle()


def main() -> int:
    """Serve one request."""
    run(one_request.read(PairRequest))
    return 0


if __name__ == "__main__":
    sys.exit(main())
