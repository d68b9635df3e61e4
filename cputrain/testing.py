"""The `test` verb: the project's own tests, each part where its libraries are."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from cputrain import asvenv, paths, record, stacks
from cputrain.errors import RunError
from cputrain.paths import PROJECT

TOOLS_ONLY = ("analysis", "report", "results", "sweep")
"""Folders of tests/ that need the tools of venv/; all others run on the measured stack."""
BOTH = ("machine", "libraries")
"""Folders of which a part needs the tools, and a part torch."""
OF_IPEX = "tests/engines/ipex"
"""Needs IPEX's environment, where that is built; skipped elsewhere."""


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
    """Build what is missing, run both parts; 1 where a test failed."""
    from cputrain.machine import registry

    if importlib.util.find_spec("hypothesis") is None:
        print("installing what the tests need into venv/", flush=True)
        _pip(sys.executable, ["--editable", f"{PROJECT}[tools,test]"])
    machine = registry.register().name
    asv, ipex = (asvenv.Asv("full", machine, stack) for stack in stacks.ALL)
    if not asv.is_built(record.commit()[0] or ""):
        print("asv builds its environment from requirements.txt", flush=True)
        asv.build(offline=False)
    # pytest stays beside the measured stack and not in it.
    beside = paths.STATE / "pytest"
    if not beside.exists():
        _pip(asv.python(), ["--target", str(beside), "pytest>=8.3", "hypothesis>=6.110"])
    ignored = [f"--ignore=tests/{name}" for name in TOOLS_ONLY]
    tools = [f"tests/{name}" for name in (*TOOLS_ONLY, *BOTH)]
    print("tests on the measured stack", flush=True)
    statuses = [_pytest(asv.python(), [*args.pytest, *ignored], str(beside))]
    print("tests with the tools", flush=True)
    statuses.append(_pytest(sys.executable, [*args.pytest, *tools]))
    if ipex.python().exists():
        print("tests on IPEX's stack", flush=True)
        statuses.append(_pytest(ipex.python(), [*args.pytest, OF_IPEX], str(beside)))
    # 5: none of this part was selected, which is fine where the other part had some.
    return 0 if set(statuses) <= {0, 5} and 0 in statuses else 1
