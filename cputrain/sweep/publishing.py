"""`asv publish` with the project's configuration, and its pages made to need no network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from cputrain.errors import RunError
from cputrain.machine.parent import dies_with_parent
from cputrain.paths import PROJECT
from cputrain.report.asv_pages import cached, offline
from cputrain.wording import one_line


class Published(NamedTuple):
    """The folder of the pages, and what asv has left out of them: a line for each."""

    pages: Path
    problems: list[str]


def publish(config: Path, is_offline: bool) -> Published:
    """Make the pages anew.

    Args:
        config: asv's configuration file.
        is_offline: the pages are to load their scripts from their own folder.

    Raises:
        RunError: there is nothing to publish, asv failed, or the scripts are not to be had; the
            pages of the last time are then as they were, unless asv itself failed.
    """
    settings = json.loads(config.read_text())
    results = config.parent / settings["results_dir"]
    if not (results / "benchmarks.json").exists():
        raise RunError(
            f"nothing to publish: no results of asv in {results}; run python3 bench.py first"
        )
    files = cached.ready() if is_offline else {}
    pages = config.parent / settings["html_dir"]
    problems = _asv(config)
    if is_offline:
        offline.make(pages, files)
    return Published(pages, problems)


def _asv(config: Path) -> list[str]:
    """Run it; what it says beside its steps, which is of results that it does not take."""
    done = subprocess.run(
        [sys.executable, "-m", "asv", "--config", str(config), "publish", "--no-pull"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        preexec_fn=dies_with_parent(),
    )
    lines = [re.sub(r"^\[[ \d.]+%\] ", "", line).strip() for line in done.stdout.splitlines()]
    if done.returncode:
        last = next((line for line in reversed(lines) if line), "nothing")
        raise RunError(f"asv publish failed; it said: {one_line(last.lstrip('· '))}")
    return list(dict.fromkeys(line.lstrip("· ") for line in lines if line.startswith("··")))
