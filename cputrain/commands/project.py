"""The `project` verb: how long a run of one's own model will take."""

from __future__ import annotations

import argparse
import datetime

from cputrain.commands import model_flags
from cputrain.commands.sessions import without_models
from cputrain.errors import UsageError
from cputrain.experiment.presets import PRESETS
from cputrain.report import clock
from cputrain.sweep import driver
from cputrain.sweep.projection import PlannedProjection, Project


def main(args: argparse.Namespace) -> int:
    """Measure and print.

    Raises:
        UsageError: a model that cannot be, or no step that is left.
    """
    experiment = model_flags.experiment(args)
    if args.resume_from >= args.steps:
        raise UsageError(f"--resume-from {args.resume_from}: of {args.steps} steps none is left")
    preset, now = PRESETS.get(args.preset or ""), datetime.datetime.now()
    projection = PlannedProjection(
        experiment=experiment,
        steps=args.steps,
        done=args.resume_from,
        seconds=60 * args.minutes,
        start=None if args.start is None else clock.next_showing(args.start, now),
        watts=args.watts,
        price=args.price,
        figures=() if preset is None or experiment != preset.experiment else preset.figures,
    )
    return driver.drive(Project(projection), without_models(args.offline))
