"""The command line: runs one verb. Each verb's work is in a module of its own."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cputrain.commands import temporary
from cputrain.commands.parser import parse
from cputrain.errors import UNWRITABLE, RunError, UsageError
from cputrain.machine.reading import MachineError
from cputrain.sweep import stopping
from cputrain.wording import one_line

MODULES = {"list": "listing", "export-model": "export_model"}
"""The module of a verb where it has another name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; its exit status."""
    stopping.install(stopping.end_all)
    args = parse(sys.argv[1:] if argv is None else argv)
    try:
        Path.home()
    except RuntimeError:  # no HOME, and a user that the system has no entry of
        print(
            "bench.py: no home folder is known, where asv has its list: set HOME", file=sys.stderr
        )
        return 2
    if (line := temporary.shorten()) is not None:
        print(f"bench.py: {line}", file=sys.stderr)
    module = f"cputrain.commands.{MODULES.get(args.verb, args.verb)}"
    try:
        return int(importlib.import_module(module).main(args))
    except (UsageError, MachineError) as error:
        print(f"bench.py: {one_line(error)}", file=sys.stderr)
        return 2
    except RunError as error:
        print(f"bench.py: {one_line(error)}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `bench.py list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"bench.py: {one_line(where)}{error.strerror or one_line(error)}", file=sys.stderr)
        return 2 if isinstance(error, UNWRITABLE) else 1


if __name__ == "__main__":
    sys.exit(main())
