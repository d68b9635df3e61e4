"""Flags that describe a model: --preset, --model, and one for each field of an experiment."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from cputrain.errors import UsageError
from cputrain.experiment import PART_OF, Experiment, ExperimentError
from cputrain.experiment.described import FIELDS, described, is_flag, value_of, values

TITLES = {
    "model": "the model; left out: as in the baseline; none: as follows from other fields",
    "training": "its training",
    "runtime": "what runs it",
    "system": "what it runs on",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Let a parser take a description."""
    parser.add_argument("--preset", metavar="NAME", help="a published run, such as wiki-24m")
    parser.add_argument(
        "--model", metavar="FILE.toml", type=Path, help="fields by name, such as n_layer = 8"
    )
    add_fields(parser, TITLES)


def add_fields(
    parser: argparse.ArgumentParser, titles: Mapping[str, str], hidden: Collection[str] = ()
) -> None:
    """Let a parser take each field by name, under a title for its part.

    Args:
        hidden: fields that `--help` does not list.
    """
    groups = {part: parser.add_argument_group(title) for part, title in titles.items()}
    usual = Experiment().flat()
    for name in FIELDS:
        flag = f"--{name.replace('_', '-')}"
        group, text = groups[PART_OF[name]], f"baseline: {_shown(usual[name])}"
        text = argparse.SUPPRESS if name in hidden else text
        if is_flag(name):
            group.add_argument(flag, dest=name, action=argparse.BooleanOptionalAction, help=text)
        else:
            group.add_argument(flag, dest=name, metavar=values(name), help=text)


def _shown(value: object) -> str:
    """A field's value as its flag takes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def experiment(args: argparse.Namespace) -> Experiment:
    """What the flags describe.

    Raises:
        UsageError: it cannot be.
    """
    try:
        return described(args.preset, args.model, fields(args))
    except ExperimentError as error:
        raise UsageError(str(error)) from error


def fields(args: argparse.Namespace) -> dict[str, Any]:
    """The fields that flags give, by name.

    Raises:
        UsageError: one has no such value.
    """
    given = {name: getattr(args, name) for name in FIELDS if getattr(args, name) is not None}
    try:
        return {n: value_of(n, v) if isinstance(v, str) else v for n, v in given.items()}
    except ExperimentError as error:
        raise UsageError(str(error)) from error
