"""Flags of the verb `run`. Standard library only."""

from __future__ import annotations

import argparse

from cputrain.commands import arguments, flags
from cputrain.run.session import MODEL_CAP_BYTES


def add(verbs: flags.Verbs) -> argparse.ArgumentParser:
    """Let a parser take the verb; the parser of its flags."""
    run = verbs.add_parser("run", help="measure, then write the tables (the default verb)")
    flags.bench(
        run, "only cells whose name matches, as asv's: 'SeqLen', 'Width.*512'; may be repeated"
    )
    run.add_argument(
        "--quick",
        action="store_true",
        help="the cells that matter to most, or ends and middle of the suites that --bench names; "
        "kept apart from full results",
    )
    run.add_argument(
        "--passes",
        type=arguments.count,
        metavar="N",
        help="fresh workers for a cell at most (default: as many as the time allows)",
    )
    flags.budget(run, "18, quick 1.4")
    flags.fresh(run, "a stopped run")
    flags.offline(run)
    run.add_argument(
        "--model-cap",
        type=arguments.positive,
        metavar="MB",
        default=MODEL_CAP_BYTES / 1e6,
        help="do not keep trained models larger than this (default %(default)g)",
    )
    flags.several(
        run,
        "--library",
        "NAME=PATH",
        "take this file for libiomp5, mkl, openblas, onednn, jemalloc, tcmalloc or "
        "mimalloc; may be repeated",
    )
    run.add_argument(
        "--allow-machine-changes",
        action="store_true",
        help="let cells set clock, governor, turbo and huge-page mode of the whole machine, "
        "and put them back",
    )
    run.add_argument(
        "--ipex",
        action="store_true",
        help="also what Intel's extension of torch 2.8 runs, in an environment of its own",
    )
    return run
