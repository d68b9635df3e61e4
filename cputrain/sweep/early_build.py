"""Build asv's environment while the other tools are installed, at the first start of bench.py.

What needs the environment waits for this (`asvenv.wait_for_early_build`), and builds it where it
is not whole then: that is where a failure is told.

Usage: python -m cputrain.sweep.early_build [--offline]. It needs asv, virtualenv and msgspec.
"""

from __future__ import annotations

import os
import sys

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine import lock
from cputrain.machine.parent import die_with_parent
from cputrain.paths import PROJECT
from cputrain.run import recording
from cputrain.sweep import asvenv


def build(offline: bool) -> None:
    """Have asv's library do what `asv run` does before it measures."""
    from asv import environment, repo
    from asv.config import Config

    os.environ.update(asvenv.pip_environment(offline))
    settings = Config.load(str(asvenv.config("full")))
    os.chdir(PROJECT)
    (env,) = environment.get_environments(settings, None)
    env.create()
    env.install_project(settings, repo.get_repo(settings), recording.commit()[0])


def main() -> None:
    """Build, unless the machine measures; what is printed goes to a log."""
    die_with_parent()
    try:
        lock.hold().close()
    except UsageError:  # which the verb itself tells
        return
    logs = paths.STATE / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / "early build.log").open("w") as log:
        os.dup2(log.fileno(), sys.stdout.fileno())
        os.dup2(log.fileno(), sys.stderr.fileno())
    build(offline="--offline" in sys.argv[1:])


if __name__ == "__main__":
    main()
