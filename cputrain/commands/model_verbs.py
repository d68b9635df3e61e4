"""The verbs that a model of one's own is described to. Standard library only."""

from __future__ import annotations

import argparse

from cputrain.commands import arguments, flags, model_flags

MODEL = "[--preset NAME] [--model FILE.toml] [--FIELD VALUE ...]"
PROJECT_USAGE = f"bench.py project --steps N {MODEL} [...]"
OF_RUN = "of the whole run"
PREDICT_USAGE = f"bench.py predict [--steps N | --tokens N] [--grid FIELDS] {MODEL}"


def add(verbs: flags.Verbs) -> None:
    """Add them to a parser's verbs."""
    _add_project(
        verbs.add_parser(
            "project", help="how long a run of a model of your own takes", usage=PROJECT_USAGE
        )
    )
    _add_predict(
        verbs.add_parser(
            "predict",
            help="what a model of your own will take, at once and without running it",
            usage=PREDICT_USAGE,
        )
    )


def _add_project(project: argparse.ArgumentParser) -> None:
    flags.steps(project, "--steps", OF_RUN, required=True)
    flags.steps(project, "--resume-from", "steps that are done already", default=0)
    project.add_argument(
        "--start", type=arguments.time, metavar="HH:MM", help="when it starts (default: now)"
    )
    project.add_argument(
        "--minutes",
        type=arguments.positive,
        metavar="N",
        default=1.0,
        help="of real steps to measure (default 1)",
    )
    flags.above_zero(project, "--watts", "N", "what the machine draws, if you know")
    flags.above_zero(project, "--price", "N", "of a kilowatt-hour, in any currency")
    flags.offline(project)
    model_flags.add(project)


def _add_predict(predict: argparse.ArgumentParser) -> None:
    length = predict.add_mutually_exclusive_group()
    flags.steps(length, "--steps", OF_RUN)
    length.add_argument(
        "--tokens", type=arguments.tokens, metavar="N", help="of the whole run: 100M, 2.5B"
    )
    predict.add_argument(
        "--grid", metavar="FIELDS", help='a table of all combinations: "n_layer=4,8 n_embd=256,512"'
    )
    predict.add_argument(
        "--machine", metavar="NAME", help="one with records here, or example (default: this one)"
    )
    model_flags.add(predict)
