"""Verbs and flags. Standard library only: they are read before anything is installed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cputrain.commands import (
    arguments,
    finetune_flags,
    flags,
    fleet_flags,
    machine_verbs,
    model_verbs,
    refusing,
    run_flags,
    train_flags,
    tune_flags,
)
from cputrain.commands.refusing import Parser

DESCRIPTION = """\
Measure how fast this machine's CPU trains small language models, and what changes it.

  python3 bench.py                      every suite, then tables under result/ (the main job)
  python3 bench.py --quick              the cells that matter to most, in minutes
  python3 bench.py --bench 'SeqLen|Width'
  python3 bench.py list                 the suites, their values, what this machine skips
"""

BUILDING = ("run", "engines", "parts", "claims", "tune", "train", "finetune", "project", "test")
"""Verbs that need asv's environment, whatever their flags are."""

EPILOG = """\
An interrupted run goes on where it stopped, cell by cell. Read result/README.md
first. asv works as usual with venv/bin on the path: asv run --bench SeqLen,
asv show, asv publish, asv preview.
Exit status: 0 all well, 1 some cell or step failed, 2 bad usage, 130 stopped by Ctrl-C.
"""


def _parser() -> tuple[Parser, dict[str, Parser]]:
    """The parser, and that of each verb by its name."""
    parser = Parser(
        prog="bench.py",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs: Any = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    run = run_flags.add(verbs)
    verbs.add_parser("list", help="suites, their values, and what this machine skips and why")
    verbs.add_parser("export", help="write the tables under result/ again")
    example = verbs.add_parser(
        "example", help="put a whole run's results in place of example/, and into README.md"
    )
    example.add_argument(
        "--from",
        dest="source",
        metavar="FOLDER",
        type=Path,
        help="a clone with result/ and output/ (default: this one)",
    )
    example.add_argument("--machine", metavar="NAME", help="whose, where there are several")
    flags.local_assets(verbs.add_parser("publish", help="asv's pages of all results, into html/"))
    engines = verbs.add_parser(
        "engines", help="every engine beside torch, in turns, on the same work: one table"
    )
    engines.add_argument(
        "--rounds",
        type=arguments.count,
        metavar="N",
        help="fresh workers for each cell (default 3)",
    )
    engines.add_argument("--quick", action="store_true", help="one round, in a table of its own")
    flags.drawn_seed(engines, "--seed", "of the order")
    engines.add_argument(
        "--inductor", action="store_true", help="also torch.compile, half a minute a worker"
    )
    flags.offline(engines)
    parts = verbs.add_parser("parts", help="where the time of a step goes, engine by engine")
    flags.several(parts, "--engine", "NAME", "only this; may be repeated")
    flags.offline(parts)
    claims = verbs.add_parser(
        "claims", help="what others claimed about training on CPUs, put to the test: 25 verdicts"
    )
    claims.add_argument("ids", nargs="*", metavar="ID", help="C1 to C25 (default: all)")
    flags.budget(claims, "20")
    flags.fresh(claims, "earlier pairs")
    flags.offline(claims)
    machine_verbs.add(verbs)
    model_verbs.add(verbs)
    tune_flags.add(verbs)
    fleet_flags.add(verbs)
    train_flags.add(verbs)
    train_flags.add_export(verbs)
    finetune_flags.add(verbs)
    machine = verbs.add_parser("machine", help="what is recorded about a machine")
    machine.add_argument("name", nargs="?", help="one with results here; this one if left out")
    verbs.add_parser("doctor", help="what here disturbs measurements, and what to do about it")
    verbs.add_parser("restore", help="put back machine settings that a killed run left changed")
    parser.epilog = f"run's flags:\n{_options(run)}\n{EPILOG}"
    test = verbs.add_parser("test", help="run the project's own tests")
    test.add_argument("--strict", action="store_true", help="do not run again what failed once")
    test.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    return parser, dict(verbs.choices)


def _options(parser: argparse.ArgumentParser) -> str:
    """The part of a parser's help that lists its options."""
    return parser.format_help().split("options:\n")[1]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The verb and its flags; `run` where no verb is given. Bad usage exits with status 2.

    `builds` says whether the verb needs asv's environment.
    """
    words = list(argv)
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        words.insert(0, "run")
    parser, verbs = _parser()
    if words[0] not in verbs and not words[0].startswith("-"):
        parser.error(refusing.unknown_verb(words[0], verbs))
    args, unknown = parser.parse_known_args(words)
    if unknown:
        others = {name: each for name, each in verbs.items() if name != args.verb}
        verbs[args.verb].error(refusing.unknown_words(unknown, verbs[args.verb], others))
    args.builds = args.verb in BUILDING
    return args
