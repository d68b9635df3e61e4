"""The `test` verb: the project's own tests, each part where its libraries are."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cputrain import paths
from cputrain.errors import RunError
from cputrain.paths import PROJECT
from cputrain.run import recording, stacks
from cputrain.sweep import asvenv

TOOLS_ONLY = ("tests/analysis", "tests/report", "tests/results", "tests/sweep")
"""Need the tools of venv/; all others run on the measured stack."""
BOTH = ("tests/machine", "tests/libraries")
"""A part of these needs the tools, and a part torch."""
OF_IPEX = ("tests/engines/ipex",)
"""Needs IPEX's environment, where that is built; skipped elsewhere."""
NOTHING_SELECTED = 5
"""pytest's status."""


def _pip(python: Path | str, words: list[str]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().split("\n")[-1]
        raise RunError(f"cannot install what the tests need; is the network there? pip: {last}")


def _pytest(python: Path | str, words: list[str], also: str = "") -> int:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT), also]))}
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=PROJECT, env=env).returncode


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The places in tests/ among words for pytest, and the others."""
    places = [w for w in words if w.startswith("tests") and (PROJECT / _file(w)).exists()]
    return places, [word for word in words if word not in places]


def within(asked: Sequence[str], folders: Sequence[str]) -> list[str]:
    """What lies in `folders` of the places that are asked for; all where none is."""
    found = []
    for place in asked or ("tests",):
        if any(_file(place).is_relative_to(folder) for folder in folders):
            found.append(place)
        found += [f for f in folders if f != place and Path(f).is_relative_to(_file(place))]
    return found


def without(asked: Sequence[str], folders: Sequence[str]) -> list[str]:
    """What lies elsewhere; pytest has to ignore `folders` all the same."""
    places = asked or ("tests",)
    return [p for p in places if not any(_file(p).is_relative_to(folder) for folder in folders)]


def _file(place: str) -> Path:
    return Path(place.partition("::")[0])


def main(args: argparse.Namespace) -> int:
    """Build what is missing, run the parts; 1 where a test failed."""
    from cputrain.machine import registry

    if importlib.util.find_spec("hypothesis") is None:
        print("installing what the tests need into venv/", flush=True)
        _pip(sys.executable, ["--editable", f"{PROJECT}[tools,test]"])
    machine = registry.register().name
    asv, ipex = (asvenv.Asv("full", machine, stack) for stack in stacks.ALL)
    if not asv.is_built(recording.commit()[0] or ""):
        print("asv builds its environment from requirements.txt", flush=True)
        asv.build(offline=False)
    # pytest stays beside the measured stack and not in it.
    beside = paths.STATE / "pytest"
    if not beside.exists():
        _pip(asv.python(), ["--target", str(beside), "pytest>=8.3", "hypothesis>=6.110"])
    asked, words = split(args.pytest)
    ignored = [f"--ignore={folder}" for folder in TOOLS_ONLY]
    parts = [
        ("on the measured stack", asv.python(), without(asked, TOOLS_ONLY), ignored, str(beside)),
        ("with the tools", Path(sys.executable), within(asked, (*TOOLS_ONLY, *BOTH)), [], ""),
    ]
    if ipex.python().exists():
        parts.append(("on IPEX's stack", ipex.python(), within(asked, OF_IPEX), [], str(beside)))
    statuses = []
    for where, python, places, more, also in parts:
        if places:
            print(f"tests {where}", flush=True)
            statuses.append(_pytest(python, [*words, *places, *more], also))
    # None of a part may be selected where another part had some.
    return 0 if set(statuses) <= {0, NOTHING_SELECTED} and 0 in statuses else 1
