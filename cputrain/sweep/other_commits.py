"""`asv run A..B`: commits other than HEAD run their own code, and their records lie apart.

asv installs what it has checked out of a commit (see `installed_code`), and clears that folder for
the next one: so data, records and models of another commit than HEAD go to a folder of their own
below .asv/asv-run. asv has no hook for the environment of one commit's processes, so its method is
wrapped. Standard library and asv only.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cputrain import environ, paths
from cputrain.sweep import installed_code

FOLDER = paths.OTHER_COMMITS
TEXT = "corpus.json"
"""The working tree's text, which other commits train on too."""
MEASURES = ("benchmarks", "cputrain", "requirements.txt")
"""What decides what HEAD measures."""


def root(commit: str) -> Path:
    """Where data, records and models of another commit than HEAD lie."""
    return paths.STATE / FOLDER / commit[:12]


def apart() -> None:
    """From now on asv's processes of another commit than HEAD have a folder of their own."""
    from asv.environment import Environment

    head = installed_code.head(str(paths.PROJECT))
    Environment.run_executable = _wrapped(Environment.run_executable, head)


def _wrapped(run: Callable[..., Any], head: str | None) -> Callable[..., Any]:
    @functools.wraps(run)
    def run_executable(self: Any, executable: str, args: Any, **words: Any) -> Any:
        commit = self._global_env_vars.get("ASV_COMMIT")
        if head is not None and commit not in (None, head):
            env = dict(words.pop("env", os.environ))
            words["env"] = {**env, environ.ROOT: str(_made(commit))}
        return run(self, executable, args, **words)

    return run_executable


def _made(commit: str) -> Path:
    """The folder, with the working tree's text in it."""
    folder, text = root(commit), paths.DATA / TEXT
    (folder / "data").mkdir(parents=True, exist_ok=True)
    if text.exists() and not (folder / "data" / TEXT).exists():
        shutil.copy(text, folder / "data" / TEXT)
    return folder


def dirty() -> str | None:
    """One line: that HEAD is measured with what is not committed; None where all is."""
    command = ["git", "-C", str(paths.PROJECT), "status", "--porcelain", "--", *MEASURES]
    done = subprocess.run(command, capture_output=True, text=True)
    changed = [line[3:] for line in done.stdout.splitlines()]
    if done.returncode or not changed:
        return None
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return f"HEAD is measured as the working tree has it, with {', '.join(changed[:3])}{more}"
