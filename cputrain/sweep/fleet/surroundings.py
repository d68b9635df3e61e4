"""The environment of a node's bench.py: a home of its own, and the user's settings."""

from __future__ import annotations

import os
from pathlib import Path

from cputrain import environ

KEPT = (environ.LOCK, environ.MEASURE_S)
"""Variables of this program that a node takes over; others would lead it to another folder."""
FOLDERS = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}
"""Where pip and the data sets' hub have settings and caches, below the user's home."""
FILES = {"GIT_CONFIG_GLOBAL": ".gitconfig", "PIP_CONFIG_FILE": ".pip/pip.conf", "NETRC": ".netrc"}


def environment(folder: Path) -> dict[str, str]:
    """Variables for a clone.

    asv keeps its list of machines in the home. Nodes have one home on most clusters, and those that
    start at the same time would write that list at the same time.
    """
    home = Path.home()
    own = folder / ".git" / "home"
    own.mkdir(exist_ok=True)
    env = {
        name: text
        for name, text in os.environ.items()
        if name != "PYTHONPATH" and (name in KEPT or not name.startswith(environ.PREFIX))
    }
    there = {name: home / place for name, place in FOLDERS.items()}
    there |= {name: home / file for name, file in FILES.items() if (home / file).exists()}
    return {name: str(path) for name, path in there.items()} | env | {"HOME": str(own)}
