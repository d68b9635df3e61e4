"""The `predict` verb: what a model of one's own will take, without running anything."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.analysis.cost import predict
from cputrain.analysis.cost.costs import Costs
from cputrain.commands import grid, model_flags
from cputrain.engines import specs
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.experiment.described import of_fields, of_file
from cputrain.machine import registry
from cputrain.model.shapes import n_params
from cputrain.report import costs as known_costs
from cputrain.report import example
from cputrain.report import prediction as report
from cputrain.wording import one_line


def main(args: argparse.Namespace) -> int:
    """Print it.

    Raises:
        UsageError: a model that cannot be, or of which the measured cells tell nothing.
    """
    if args.grid is not None:
        return _table(args, _grid(args))
    experiment = model_flags.experiment(args)
    try:
        settled = specs.settle(experiment)
    except ExperimentError as error:
        raise UsageError(str(error)) from error
    root, machine = _machine(args.machine)
    costs = known_costs.needed(root, machine)
    known, its = predict.predict(settled, costs), costs.engines[experiment.runtime.engine]
    has_length = args.steps is not None or args.tokens is not None
    if args.machine is not None:
        print(f"by the records of {one_line(machine)}: below, it is here and this machine")
    for line in report.lines(experiment, known, _run(experiment, args), its, has_length):
        print(one_line(line))
    return 0


def _grid(args: argparse.Namespace) -> grid.Grid:
    """Raises UsageError: no such grid, a field that a flag has too, or a run without a length."""
    wanted = grid.parse(args.grid)
    for name in wanted:
        if getattr(args, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{name} is given twice: {flag} and --grid; leave one of them out")
    if args.steps is None and args.tokens is None:
        raise UsageError(
            "--grid is a table of hours: add --tokens, such as --tokens 100M, or --steps"
        )
    return wanted


def _table(args: argparse.Namespace, wanted: grid.Grid) -> int:
    """Print a line for every combination; what cannot be says why, in its line.

    Raises:
        UsageError: none of them can be predicted.
    """
    given, combinations = _given(args), list(grid.combinations(wanted))
    models = [_model(args.preset, {**given, **fields}) for _, fields in combinations]
    _refuse_alike([model if isinstance(model, str) else None for model in models])
    costs = known_costs.needed(*_machine(args.machine))
    rows = [
        _row(texts, model, args, costs)
        for (texts, _), model in zip(combinations, models, strict=True)
    ]
    _refuse_alike([row.why_not for row in rows])
    for line in report.table(list(wanted), rows):
        print(line)
    if all(row.known is None for row in rows):
        raise UsageError("--grid: none of these can be predicted; each line says why")
    return 0


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of all combinations: those of the file, and those of the flags."""
    try:
        of_model = {} if args.model is None else of_file(args.model)
    except ExperimentError as error:
        raise UsageError(str(error)) from error
    return {**of_model, **model_flags.fields(args)}


def _model(preset: str | None, fields: Mapping[str, Any]) -> Experiment | str:
    """The settled experiment, or why it cannot be."""
    try:
        return specs.settle(of_fields(preset, fields))
    except ExperimentError as error:
        return one_line(error)


def _row(
    texts: Sequence[str], model: Experiment | str, args: argparse.Namespace, costs: Costs
) -> report.GridRow:
    if isinstance(model, str):
        return report.GridRow(texts, why_not=model)
    try:
        known = predict.predict(model, costs)
    except UsageError as error:
        return report.GridRow(texts, why_not=one_line(error))
    return report.GridRow(texts, n_params(model) / 1e6, known, _run(model, args))


def _refuse_alike(reasons: Sequence[str | None]) -> None:
    """Raise UsageError where all combinations are impossible for one and the same reason."""
    if len(set(reasons)) == 1 and reasons[0] is not None:
        raise UsageError(reasons[0])


def _machine(name: str | None) -> tuple[Path, str]:
    """The given machine, else this one: the folder that has its records, and its name there.

    Raises:
        UsageError: no results of such a machine.
    """
    if name is None:
        return paths.ROOT, registry.name_here().name
    known = {path.name: (paths.ROOT, path.name) for path in sorted(paths.OUTPUT.glob("*"))}
    shipped, _ = example.read(paths.PROJECT)
    if shipped is not None:
        place = paths.PROJECT / example.FOLDER, shipped.machine
        known = {**known, shipped.machine: known.get(shipped.machine, place), example.FOLDER: place}
    if name not in known:
        listed = ", ".join(known) or "none"
        raise UsageError(f"no records of a machine {name!r}; there are: {listed}")
    return known[name]


def _run(experiment: Experiment, args: argparse.Namespace) -> report.PredictedRun:
    tokens = experiment.training.tokens_per_step
    if args.tokens is not None:
        return report.PredictedRun(math.ceil(args.tokens / tokens), tokens)
    return report.PredictedRun(args.steps or 1, tokens)
