"""The `parts` verb: where the time of a step goes."""

from __future__ import annotations

import argparse

from cputrain.commands.sessions import without_models
from cputrain.engines import parts, specs
from cputrain.errors import UsageError
from cputrain.sweep import driver
from cputrain.sweep.parts.verb import Parts


def main(args: argparse.Namespace) -> int:
    """Watch, write and print; 1 where some run failed.

    Raises:
        UsageError: an engine that is not there, or cannot tell.
    """
    able = [name for name in specs.NAMES if parts.can_watch(name)]
    for name in args.engine:
        if name not in able:
            raise UsageError(f"--engine {name}: {', '.join(able)} tell the parts of their step")
    session = without_models(args.offline)
    return driver.drive(Parts(args.engine), session)
