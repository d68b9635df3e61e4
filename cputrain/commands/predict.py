"""The `predict` verb: what a model of one's own will take, without running anything."""

from __future__ import annotations

import argparse
import math

from cputrain import paths
from cputrain.analysis.cost import predict
from cputrain.analysis.cost.costs import Costs
from cputrain.commands import grid, model_flags
from cputrain.engines import specs
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.machine import registry
from cputrain.model.shapes import n_params
from cputrain.report import costs as known_costs
from cputrain.report import prediction as report
from cputrain.wording import one_line


def main(args: argparse.Namespace) -> int:
    """Print it.

    Raises:
        UsageError: a model that cannot be, or of which the measured cells tell nothing.
    """
    wanted = None if args.grid is None else grid.parse(args.grid)
    experiment = model_flags.experiment(args)
    if wanted is not None and args.steps is None and args.tokens is None:
        raise UsageError(
            "--grid is a table of hours: add --tokens, such as --tokens 100M, or --steps"
        )
    costs = known_costs.of(paths.ROOT, _machine(args.machine))
    if wanted is None:
        for line in _lines(experiment, args, costs):
            print(one_line(line))
        return 0
    for line in report.table(list(wanted), _rows(experiment, args, costs, wanted)):
        print(line)
    return 0


def _machine(name: str | None) -> str:
    """The name of the given machine, else of this machine.

    Raises:
        UsageError: no results of such a machine.
    """
    if name is None:
        return registry.name_here().name
    machines = sorted(path.name for path in paths.OUTPUT.glob("*"))
    if name not in machines:
        listed = ", ".join(machines) or "none"
        raise UsageError(f"no records of a machine {name!r}; there are: {listed}")
    return name


def _lines(experiment: Experiment, args: argparse.Namespace, costs: Costs | None) -> list[str]:
    known = predict.predict(_settled(experiment), costs)
    assert costs is not None
    of_engine = costs.engines[experiment.runtime.engine]
    has_length = args.steps is not None or args.tokens is not None
    return report.lines(experiment, known, _run(experiment, args), of_engine, has_length)


def _rows(
    experiment: Experiment, args: argparse.Namespace, costs: Costs | None, wanted: grid.Grid
) -> list[report.GridRow]:
    """Of every combination; what cannot be says why, in its row.

    Raises:
        UsageError: none of them can be predicted.
    """
    rows = []
    for texts, fields in grid.combinations(wanted):
        try:
            combined = experiment.but(**fields)
            known = predict.predict(_settled(combined), costs)
        except (UsageError, ExperimentError) as error:
            rows.append(report.GridRow(texts, why_not=one_line(error)))
            continue
        million = n_params(_settled(combined)) / 1e6
        rows.append(report.GridRow(texts, million, known, _run(combined, args)))
    if all(row.known is None for row in rows):
        raise UsageError(rows[0].why_not or "")
    return rows


def _settled(experiment: Experiment) -> Experiment:
    try:
        return specs.settle(experiment)
    except ExperimentError as error:
        raise UsageError(str(error)) from error


def _run(experiment: Experiment, args: argparse.Namespace) -> report.PredictedRun:
    tokens = experiment.training.tokens_per_step
    if args.tokens is not None:
        return report.PredictedRun(math.ceil(args.tokens / tokens), tokens)
    return report.PredictedRun(args.steps or 1, tokens)
