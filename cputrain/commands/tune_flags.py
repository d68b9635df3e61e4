"""Flags of the verb `tune`. Standard library only."""

from __future__ import annotations

import argparse

from cputrain.commands import arguments, model_flags

USAGE = "bench.py tune [--preset NAME] [--model FILE.toml] [--FIELD VALUE ...] [...]"
DESCRIPTION = """\
Find the fastest settings that do the same work on this machine: engine, matrix product library,
attention, compilation, loss chunk, optimizer kernel, micro-batches, threads, pinning, allocator,
huge pages. Candidates race beside the best so far; what wins is put to the test against the
settings as described, on fresh processes, and only what the test confirms is recommended.
"""


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Let a parser take the verb; the parser of its flags."""
    tune = verbs.add_parser(
        "tune",
        help="the fastest settings for a model of your own, confirmed",
        usage=USAGE,
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tune.add_argument(
        "--budget",
        type=arguments.positive,
        metavar="MINUTES",
        default=10.0,
        help="for races and test together (default 10)",
    )
    tune.add_argument(
        "--allow",
        metavar="precision=mixed,bf16",
        action="append",
        default=[],
        help="let it also choose these precisions, which round otherwise",
    )
    tune.add_argument(
        "--keep",
        metavar="FIELD,...",
        action="append",
        default=[],
        help="leave these fields as they are, such as engine",
    )
    tune.add_argument(
        "--order",
        type=arguments.seed,
        metavar="N",
        help="seed of the order of blocks (default: one drawn and recorded)",
    )
    model_flags.add(tune)
    return tune
