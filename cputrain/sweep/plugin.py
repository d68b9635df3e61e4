"""What asv loads with this project (`plugins` in asv.conf.json), where it is called by hand.

The machine gets its entry in asv's registry, so that asv and bench.py file it under one name. A run
that takes less than the suites ask for, or that asv saves nothing of, does not replace what was
measured in full. asv's files are whole at any moment. Commits other than HEAD run their own code
(`other_commits`). And published pages show suites in the project's words, by a publisher that asv
finds once it is known.
Standard library and asv only: it runs wherever asv is installed.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from pathlib import Path

from cputrain.machine import registry
from cputrain.machine.reading import MachineError
from cputrain.report.asv_pages import publisher
from cputrain.run.session import Session
from cputrain.sweep import other_commits

PUBLISHERS = (publisher.ProjectPages,)
"""asv looks for subclasses of its own: here they are imported."""

SHORTER = ("number", "repeat", "rounds", "processes")
"""Attributes of asv's benchmarks that say how much is measured."""

UNSAVED = (
    "asv saves nothing of this run: its run records are in "
    f".asv/{other_commits.UNSAVED}, and no table has them"
)


def setup() -> None:
    """Called by asv before its command.

    Raises:
        asv.util.UserError: asv ends with this line.
    """
    from asv.commands import make_argparser
    from asv.util import UserError

    write_whole_files()
    if Session.from_env().driven:  # bench.py has seen to it
        return
    parser, _ = make_argparser()
    args = parser.parse_args()
    if not hasattr(args, "launch_method"):  # nothing is measured
        return
    if (words := would_replace(args)) is not None:
        raise UserError(
            f"asv run {words} takes less than the suites ask for, and would replace what was "
            "measured in full: add --dry-run, or use python3 bench.py --quick"
        )
    if (line := other_commits.dirty()) is not None:
        print(line, file=sys.stderr)
    other_commits.apart(*saves(args))
    if not saves_any(args):
        print(UNSAVED, file=sys.stderr)
    if getattr(args, "machine", "") is None:
        try:
            registered = registry.register()
        except MachineError as error:
            raise UserError(str(error)) from error
        if registered.note is not None:
            print(registered.note, file=sys.stderr)


def write_whole_files() -> None:
    """Have asv give a JSON file its name once it is written.

    asv writes a file of its environment anew at each start, and builds the environment again where
    it finds half of one: of an asv that was killed, or that starts at the same moment.
    """
    from asv import util

    write = util.write_json

    @functools.wraps(write)
    def write_whole(path: str, *args: object, **options: object) -> None:
        part = Path(f"{path}.{os.getpid()}.part")
        try:
            write(str(part), *args, **options)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    util.write_json = write_whole


def saves(args: argparse.Namespace) -> tuple[bool, bool]:
    """Whether asv saves what a command measures: in environments of its own, in existing ones.

    `asv profile`, which has no option for the machine, saves nothing. Of an existing environment
    nothing is saved without a commit to file it under.
    """
    never = getattr(args, "dry_run", None) or getattr(args, "skip_save", False)
    is_saved = not never and hasattr(args, "machine")
    return is_saved, is_saved and getattr(args, "set_commit_hash", None) is not None


def saves_any(args: argparse.Namespace) -> bool:
    """Whether asv saves what a command measures in one of the environments that it names."""
    is_saved, existing_is_saved = saves(args)
    are_existing = [_is_existing(spec) for spec in args.env_spec] or [False]
    return any(existing_is_saved if existing else is_saved for existing in are_existing)


def would_replace(args: argparse.Namespace) -> str | None:
    """The words by which a command saves a shortened measurement; None where it does not."""
    if not saves_any(args):
        return None
    if getattr(args, "quick", False):
        return "--quick"
    shorter = [name for name in SHORTER if name in (getattr(args, "attribute", None) or {})]
    return f"--attribute {shorter[0]}" if shorter else None


def _is_existing(spec: str) -> bool:
    """Whether asv takes an environment as it is (its `get_environments`)."""
    return spec == ":same" or spec.partition(":")[0] == "existing"
