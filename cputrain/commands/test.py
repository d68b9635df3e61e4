"""The `test` verb: the project's own tests, each part where its libraries are."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from cputrain import paths
from cputrain.errors import RunError
from cputrain.paths import PROJECT
from cputrain.run import recording, stacks
from cputrain.sweep import asvenv

PYTEST = ("pytest>=8.3", "hypothesis>=6.110", "pytest-timeout>=2.3")
"""What every part needs; those of the measured stack's lie in a folder beside it."""
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


def main(args: argparse.Namespace) -> int:
    """Build what is missing, run the parts; 1 where a test failed."""
    from cputrain.machine import registry

    if importlib.util.find_spec("pytest_timeout") is None:
        print("installing what the tests need into venv/", flush=True)
        _pip(sys.executable, ["--editable", f"{PROJECT}[tools,test]"])
    machine = registry.register().name
    asv, ipex = (asvenv.Asv("full", machine, stack) for stack in stacks.ALL)
    if not asv.is_built(recording.commit()[0] or ""):
        print("asv builds its environment from requirements.txt", flush=True)
        asv.build(offline=False)
    # pytest stays beside the measured stack and not in it.
    beside = paths.STATE / "pytest"
    stamp = beside / "asked"
    if not stamp.exists() or stamp.read_text() != " ".join(PYTEST):
        _pip(asv.python(), ["--upgrade", "--target", str(beside), *PYTEST])
        stamp.write_text(" ".join(PYTEST))
    parts = [
        ("on the measured stack", "stack", asv.python(), str(beside)),
        ("with the tools", "tools", Path(sys.executable), ""),
    ]
    if ipex.python().exists():
        parts.append(("on IPEX's stack", "ipex", ipex.python(), str(beside)))
    statuses = []
    for where, environment, python, also in parts:
        print(f"tests {where}", flush=True)
        statuses.append(_pytest(python, ["--environment", environment, *args.pytest], also))
    # None may be for a part where another part had some.
    return 0 if set(statuses) <= {0, NOTHING_SELECTED} and 0 in statuses else 1
