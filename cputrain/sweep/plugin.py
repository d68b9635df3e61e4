"""What asv loads with this project (`plugins` in asv.conf.json), where it is called by hand.

The machine gets its entry in asv's registry, so that asv and bench.py file it under one name. A run
that takes less than the suites ask for does not replace what was measured in full. asv's files are
whole at any moment. Commits other than HEAD run their own code (`other_commits`). And published
pages show suites in the project's words, by a publisher that asv finds once it is known.
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
    if not hasattr(args, "machine") or not hasattr(args, "attribute"):  # nothing is measured
        return
    if (words := would_replace(args)) is not None:
        raise UserError(
            f"asv run {words} takes less than the suites ask for, and would replace what was "
            "measured in full: add --dry-run, or use python3 bench.py --quick"
        )
    if (line := other_commits.dirty()) is not None:
        print(line, file=sys.stderr)
    other_commits.apart()
    if args.machine is None:
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


def would_replace(args: argparse.Namespace) -> str | None:
    """The words by which a command saves a shortened measurement; None where it does not.

    asv itself saves nothing of an existing environment without a commit to file it under.
    """
    existing = any(spec.startswith(("existing", ":same")) for spec in args.env_spec or ())
    unfiled = existing and not getattr(args, "set_commit_hash", None)
    if getattr(args, "dry_run", None) or unfiled:
        return None
    if getattr(args, "quick", False):
        return "--quick"
    shorter = [name for name in SHORTER if name in (args.attribute or {})]
    return f"--attribute {shorter[0]}" if shorter else None
