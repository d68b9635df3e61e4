"""The `finetune` verb: a trained model goes on with other text."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from msgspec import structs

from cputrain.commands import prompts, run_names, train
from cputrain.commands.finetune_flags import SHAPE
from cputrain.commands.sessions import here, without_models
from cputrain.data import tokenizer_file
from cputrain.errors import UsageError
from cputrain.experiment import Experiment
from cputrain.experiment.runtime import Runtime
from cputrain.experiment.system import System
from cputrain.record.plan import Start
from cputrain.record.trained import TrainRecord
from cputrain.sweep import driver
from cputrain.sweep.training import source
from cputrain.sweep.training.planned import PlannedRun
from cputrain.sweep.training.source import Source
from cputrain.sweep.training.verb import TrainingRun

MERGED = ("fp32", "bf16", "mixed")
"""Precisions in which additions merged into weights are what they were beside them."""


def main(args: argparse.Namespace) -> int:
    """Fine-tune, and print.

    Raises:
        UsageError: a model, a method or a run that cannot be.
    """
    run_names.check_flags(args)
    known = train.known_run(args)
    plan = train.plan_of(args, known)
    if known is None:
        model = _source(args)
        experiment, tokenizer = _experiment(args, model), model.tokenizer_text()
        start = Start(
            name=model.name,
            file=str(model.model),
            sha256=model.sha256(),
            tokenizer=tokenizer_file.digest(tokenizer),
        )
        name = args.out or f"{run_names.of_source(model.name)}-{args.method}"
        run_names.check(name)
        record = model.record()
        if args.clip is None and record is not None:
            plan = structs.replace(plan, clip=record.plan.clip)
        plan = structs.replace(plan, start=start)
        run = PlannedRun(name, experiment, plan, args.resume is not None, args.at, tokenizer)
    else:
        run = PlannedRun(args.resume, _known(args, known), plan, True, args.at)
    train.check_data(plan, run.experiment)
    train.check_rates(run.experiment, plan.steps)
    run = dataclasses.replace(run, plan=prompts.with_prompt(args, plan, run.experiment))
    return driver.drive(TrainingRun(run), without_models(args.offline))


def _source(args: argparse.Namespace) -> Source:
    if args.source is None or args.method is None:
        raise UsageError("--from RUN and --method full, head or lora are needed to begin")
    return source.named(args.source, here().machine)


def _known(args: argparse.Namespace, known: TrainRecord) -> Experiment:
    """What a run on record trains; other flags than its own are refused where it goes on."""
    if known.plan.start is None:
        raise UsageError(
            f"run {known.name!r} fine-tunes nothing: python3 bench.py train --resume {known.name}"
        )
    if args.source is not None or args.method is not None:
        raise UsageError("--from and --method: not with --resume NAME, which has its own")
    return train.changed(Experiment.from_json(known.worker.experiment), train.changes(args))


def _experiment(args: argparse.Namespace, model: Source) -> Experiment:
    """The source's model and training by this method, with what settings and flags change.

    Raises:
        UsageError: another shape, or a method that the engine or the model has not.
    """
    trained, changes = model.experiment, train.changes(args)
    if trained.training.fine_tuning == "lora":
        raise UsageError(f"{model.model}: has low-rank additions beside its weights: not merged")
    of_model = trained.flat()
    for name in SHAPE:
        if name in changes and changes[name] != of_model[name]:
            raise UsageError(
                f"{name} = {changes[name]}: {model.name} has {name} = {of_model[name]}, and a "
                "trained model keeps its shape"
            )
    if changes.get("engine", trained.runtime.engine) != trained.runtime.engine:
        trained = dataclasses.replace(trained, runtime=Runtime(), system=System())
    method: dict[str, Any] = {"fine_tuning": args.method, "processes": None}
    if args.method == "head":
        method["tied"] = False
    tuned = train.changed(trained, {**method, **{n: v for n, v in changes.items() if n != "tied"}})
    if args.method == "lora" and tuned.training.precision not in MERGED:
        raise UsageError(
            f"precision = {tuned.training.precision!r}: merged weights would be rounded anew; "
            f"--method lora has {', '.join(MERGED)}"
        )
    return tuned
