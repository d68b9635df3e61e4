"""`asv run A..B`: commits other than HEAD run their own code, and their records lie apart.

So do the records of what asv measures and saves nothing of, as of `asv run --dry-run`.

asv installs what it has checked out of a commit (see `installed_code`), and clears that folder for
the next one: so data, records and models of another commit than HEAD go to a folder of their own
below .asv/asv-run. asv has no hook for the environment of one commit's processes, so its methods
are wrapped. Standard library and asv only.
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
UNSAVED = "asv-unsaved"
"""In .asv: data, records and models of runs that asv saves nothing of; no table has them."""
TEXT = "corpus.json"
"""The working tree's text, which other commits train on too."""
MEASURES = ("benchmarks", "cputrain", "requirements.txt")
"""What decides what HEAD measures."""


def root(commit: str | None, is_saved: bool = True) -> Path:
    """Where data, records and models lie of another commit than HEAD, or of what is not saved.

    Args:
        commit: None is HEAD.
        is_saved: whether asv saves what it measures.
    """
    return paths.STATE / (FOLDER if is_saved else UNSAVED) / (commit[:12] if commit else "HEAD")


def apart(is_saved: bool, existing_is_saved: bool) -> None:
    """From now on asv's processes have folders of their own, but for HEAD where it is saved.

    Args:
        is_saved: whether asv saves what it measures in environments that it has made.
        existing_is_saved: the same of an existing environment, where it installs no commit.
    """
    from asv.environment import Environment, ExistingEnvironment

    head = installed_code.head(str(paths.PROJECT))
    Environment.run_executable = _wrapped(Environment.run_executable, head, is_saved)
    ExistingEnvironment.run = _wrapped(ExistingEnvironment.run, head, existing_is_saved)


def _wrapped(run: Callable[..., Any], head: str | None, is_saved: bool) -> Callable[..., Any]:
    @functools.wraps(run)
    def in_its_folder(self: Any, *args: Any, **words: Any) -> Any:
        commit = self._global_env_vars.get("ASV_COMMIT")
        other = commit if head is not None and commit != head else None
        if other is not None or not is_saved:
            env = dict(words.pop("env", os.environ))
            words["env"] = {**env, environ.ROOT: str(_made(root(other, is_saved)))}
        return run(self, *args, **words)

    return in_its_folder


def _made(folder: Path) -> Path:
    """The folder, with the working tree's text in it."""
    text = paths.DATA / TEXT
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
