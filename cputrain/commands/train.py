"""The `train` verb: the real run, and going on with it."""

from __future__ import annotations

import argparse
from typing import Any

from msgspec import structs

from cputrain.commands import model_flags, prompts, run_names
from cputrain.commands.sessions import here, without_models
from cputrain.engines import specs
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.experiment.described import described, of_file
from cputrain.record.plan import TrainingPlan
from cputrain.record.trained import TrainRecord
from cputrain.sweep import driver
from cputrain.sweep.training import events, own_files
from cputrain.sweep.training.folders import folder_of, record_of
from cputrain.sweep.training.planned import BROKEN, PlannedRun, unknown
from cputrain.sweep.training.verb import TrainingRun
from cputrain.wording import counted

EVALUATIONS, LEAST = 20, 10
"""Of a run where nothing else is said, and steps between two of them at least."""
PLANNED = ("clip", "validate_every", "save_every", "keep_every", "tensorboard")
"""Fields of a plan that have a flag of their name."""
SHORT = {"lr": "learning_rate", "warmup_steps": "lr_warmup_steps", "nproc": "processes"}
"""Flags that give a field under another name."""
WHOLE = ("text", "packed")
"""Data set and packing of files of one's own."""
MEMORY = {"loader": "memory", "loader_workers": 0}
FROM_MEMORY = "train has its data in memory, or with --data on disk, and streams nothing"


def main(args: argparse.Namespace) -> int:
    """Train, and print.

    Raises:
        UsageError: a model or a run that cannot be.
    """
    run_names.check_flags(args)
    known = known_run(args)
    experiment = experiment_of(args, known)
    plan = prompts.with_prompt(args, plan_of(args, known), experiment)
    name = args.resume or args.out or run_names.usual(args, experiment)
    run_names.check(name)
    check_data(plan, experiment)
    check_rates(experiment, plan.steps)
    run = PlannedRun(name, experiment, plan, args.resume is not None, args.at)
    return driver.drive(TrainingRun(run), without_models(args.offline))


def check_data(plan: TrainingPlan, experiment: Experiment) -> None:
    """Raise UsageError where files of one's own cannot be what is trained on."""
    if plan.files and (experiment.training.dataset, experiment.training.packing) != WHOLE:
        raise UsageError("--data: dataset = 'text' and packing = 'packed' are needed")


def check_rates(experiment: Experiment, steps: int) -> None:
    """Raise UsageError where the learning rate would never be reached."""
    warm_up = experiment.training.lr_warmup_steps
    if warm_up >= steps:
        raise UsageError(
            f"lr_warmup_steps = {warm_up}: the run has {counted(steps, 'step')}; --warmup-steps N "
            "says another, --steps N a longer run"
        )


def experiment_of(args: argparse.Namespace, known: TrainRecord | None) -> Experiment:
    """What is trained: as described, or else that of the run on record, with its `changes`.

    Raises:
        UsageError: it cannot be.
    """
    if known is None or args.preset is not None or args.model is not None:
        try:
            return settled(described(args.preset, args.model, changes(args)))
        except ExperimentError as error:
            raise UsageError(str(error)) from error
    return changed(Experiment.from_json(known.worker.experiment), changes(args))


def changes(args: argparse.Namespace) -> dict[str, Any]:
    """The fields that settings and flags give, by name; flags win.

    Raises:
        UsageError: the settings cannot be read, or see `fields`.
    """
    try:
        settings = {} if args.settings is None else of_file(args.settings)
    except ExperimentError as error:
        raise UsageError(str(error)) from error
    return {**settings, **fields(args)}


def fields(args: argparse.Namespace) -> dict[str, Any]:
    """The fields that flags give, by name; the short flags are among them.

    Raises:
        UsageError: one has no such value, or two flags give it two.
    """
    given = model_flags.fields(args)
    for short, name in SHORT.items():
        value = getattr(args, short, None)
        if value is None:
            continue
        if given.get(name, value) != value:
            flags = [f"--{flag.replace('_', '-')}" for flag in (short, name)]
            raise UsageError(
                f"{name} is given twice: {flags[0]} {value} and {flags[1]} {getattr(args, name)}; "
                "leave one out"
            )
        given[name] = value
    return given


def changed(trained: Experiment, fields: dict[str, Any]) -> Experiment:
    """A known run's experiment with these fields.

    Raises:
        UsageError: it cannot be.
    """
    try:
        return settled(trained.but(**fields))
    except ExperimentError as error:
        raise UsageError(str(error)) from error


def known_run(args: argparse.Namespace) -> TrainRecord | None:
    """The record of a run that is gone on with by its name; None where none is named.

    Raises:
        UsageError: there is no such run, or its record cannot be read.
    """
    if not args.resume:
        return None
    run_names.check(args.resume)
    folder = folder_of(here().machine, args.resume)
    record = record_of(folder, BROKEN)
    if record is None:
        raise unknown(folder, args.verb)
    return record


def settled(wanted: Experiment) -> Experiment:
    """A described experiment as `train` runs it.

    All of its data is in memory and all of its micro-batches are run. One process is one without
    torchrun.

    Raises:
        UsageError: it cannot be.
    """
    try:
        if wanted.training.objective == "forward":
            raise UsageError("objective = 'forward' trains nothing")
        if wanted.training.loader != MEMORY["loader"]:
            print(f"loader {wanted.training.loader}: {FROM_MEMORY}")
        whole = wanted.but(**MEMORY, micro_batches=None)
        if whole.system.processes == 1:
            whole = whole.but(processes=None)
        return specs.settle(whole)
    except ExperimentError as error:
        raise UsageError(str(error)) from error


def plan_of(args: argparse.Namespace, known: TrainRecord | None) -> TrainingPlan:
    """The plan: as the flags say, and for the rest as the run on record has it.

    Raises:
        UsageError: no number of steps, a file that cannot be read, or no TensorBoard here.
    """
    steps = args.steps or (known.plan.steps if known else None)
    if steps is None:
        raise UsageError("--steps N is needed: of the whole run")
    base = known.plan if known else TrainingPlan(steps=steps)
    plan = structs.replace(base, steps=steps, resume=None)
    if known is None:
        plan = structs.replace(plan, validate_every=max(LEAST, steps // EVALUATIONS))
    if args.data:
        plan = structs.replace(plan, files=[own_files.checked(path) for path in args.data])
    given = {name: getattr(args, name) for name in PLANNED}
    plan = structs.replace(plan, **{n: v for n, v in given.items() if v is not None})
    if args.patience is not None:
        plan = structs.replace(plan, patience=args.patience or None)
    if plan.tensorboard:
        events.require()
    return plan
