"""The `test` verb: the project's own tests, each part where its libraries are."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain import paths
from cputrain.errors import RunError, UsageError
from cputrain.paths import PROJECT
from cputrain.run import recording, stacks
from cputrain.sweep import asvenv

PYTEST = ("pytest>=8.4", "hypothesis>=6.110", "pytest-timeout>=2.3", "pytest-xdist>=3.6")
"""What every part needs; those of the measured stack's lie in a folder beside it."""
PLUGINS = ("pytest_timeout", "xdist", "tensorboard")
"""Modules of the tools that are there where all is."""
MOST_PROCESSES = 2
"""Tests at a time: many pin what they start to the first CPU, so more would wait for each other."""
MOST_AGAIN = 3
"""So many failures may be the machine's doing; more are no accident, and are not tried again."""
FAILED, BAD_USAGE, NOTHING_SELECTED = 1, 4, 5
"""pytest's statuses."""


@dataclass(frozen=True)
class TestPart:
    """Tests of one environment.

    Attributes:
        where: for people, as "with the tools".
        environment: as the tests' marks say.
        python: its interpreter.
        also: a further folder of packages.
        project: folder that has `tests` in it.
        kept: folder of pytest's cache, which says what failed.
    """

    where: str
    environment: str
    python: Path
    also: str = ""
    project: Path = PROJECT
    kept: Path = paths.STATE / "tests"

    def run(self, words: Sequence[str], processes: int) -> int:
        """Run its tests; pytest's status.

        Args:
            words: further ones for pytest.
            processes: so many tests at a time; 0 is one, in pytest's own process.
        """
        cache = self.kept / self.environment
        path = os.pathsep.join(filter(None, [str(PROJECT), self.also]))
        env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": _share(processes)}
        command = [str(self.python), "-m", "pytest", "-o", f"cache_dir={cache}"]
        # Each process has a run of files, whose tests share what fixtures have started; who is done
        # first takes half of what the other has left. (By whole files xdist can hang at a crash.)
        command += ["-n", str(processes), "--dist", "worksteal", "--environment", self.environment]
        return subprocess.run([*command, *words], cwd=self.project, env=env).returncode

    def forget(self) -> None:
        """Start with no test known as failed."""
        shutil.rmtree(self.kept / self.environment, ignore_errors=True)

    def failed(self) -> list[str]:
        """Tests that failed when they last ran, by pytest's names."""
        path = self.kept / self.environment / "v" / "cache" / "lastfailed"
        return sorted(json.loads(path.read_text())) if path.exists() else []


def _share(processes: int) -> str:
    """Threads of a process that computes: of more than there are CPUs, each waits for others."""
    return str(max(1, len(os.sched_getaffinity(0)) // max(1, processes)))


def run_parts(parts: Sequence[TestPart], words: Sequence[str], strict: bool, processes: int) -> int:
    """Run each part, then what failed once more; 1 where a test failed, and failed again.

    Args:
        words: further ones for pytest.
        strict: nothing is tried again.
        processes: tests at a time.

    Raises:
        UsageError: the words name no test.
    """
    statuses = {}
    for part in parts:
        print(f"tests {part.where}", flush=True)
        part.forget()
        statuses[part] = part.run(words, processes)
    first = {part: part.failed() for part, status in statuses.items() if status == FAILED}
    names = [name for failed in first.values() for name in failed]
    if len(names) > MOST_AGAIN and not strict:
        print(f"{len(names)} tests failed; only {MOST_AGAIN} or fewer are run again", flush=True)
    elif names and all("::" in name for name in names) and not strict:  # else: a whole file
        statuses |= _again(first, words)
    # None may be for a part where another part had some.
    ended = {*statuses.values()}
    if words and ended <= {BAD_USAGE, NOTHING_SELECTED}:
        raise UsageError(f"no test was run by: {' '.join(words)}")
    return 0 if ended <= {0, NOTHING_SELECTED} and 0 in ended else 1


def _again(first: dict[TestPart, list[str]], words: Sequence[str]) -> dict[TestPart, int]:
    """Run what failed once more, one test at a time; pytest's status of each part."""
    statuses = {}
    for part in first:
        print(f"once more, alone: what failed {part.where}", flush=True)
        statuses[part] = part.run([*words, "--last-failed"], 0)
    second = {name for part in first for name in part.failed()}
    names = [name for failed in first.values() for name in failed]
    for what, tests in (
        ("failed once, passed when run again", [name for name in names if name not in second]),
        ("failed twice", [name for name in names if name in second]),
    ):
        if tests:
            print("\n  ".join([f"{what}:", *tests]), flush=True)
    return statuses


@contextlib.contextmanager
def _installing(python: Path | str, words: Sequence[str]) -> Iterator[None]:
    """Have pip install beside what the block does; nothing where there are no words."""
    if not words:
        yield
        return
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with subprocess.Popen([*command, *words], stderr=subprocess.PIPE, text=True) as pip:
        try:
            yield
        except BaseException:
            pip.terminate()
            raise
        _, errors = pip.communicate()
    if pip.returncode:
        last = errors.strip().split("\n")[-1]
        raise RunError(f"cannot install what the tests need; is the network there? pip: {last}")


def main(args: argparse.Namespace) -> int:
    """Build what is missing, run the parts; 1 where a test failed."""
    from cputrain.machine import registry

    missing = any(importlib.util.find_spec(name) is None for name in PLUGINS)
    if missing:
        print("installing what the tests need into venv/", flush=True)
    machine = registry.register().name
    asv, ipex = (asvenv.Asv("full", machine, stack) for stack in stacks.ALL)
    # bench.py has installed cputrain there, so pip takes that one's `test` and leaves it alone.
    with _installing(sys.executable, ["cputrain[test]"] if missing else []):
        if not asv.stands():
            print("asv builds its environment from requirements.txt", flush=True)
        asvenv.wait_for_early_build()
        if not asv.is_built(recording.commit()[0] or ""):
            asv.build(offline=False)
    # pytest stays beside the measured stack and not in it.
    beside = paths.STATE / "pytest"
    stamp = beside / "asked"
    if not stamp.exists() or stamp.read_text() != " ".join(PYTEST):
        with _installing(asv.python(), ["--upgrade", "--target", str(beside), *PYTEST]):
            pass
        stamp.write_text(" ".join(PYTEST))
    parts = [
        TestPart("on the measured stack", "stack", asv.python(), str(beside)),
        TestPart("with the tools", "tools", Path(sys.executable)),
    ]
    if ipex.python().exists():
        parts.append(TestPart("on IPEX's stack", "ipex", ipex.python(), str(beside)))
    processes = min(MOST_PROCESSES, len(os.sched_getaffinity(0)))
    return run_parts(parts, args.pytest, args.strict, processes)
