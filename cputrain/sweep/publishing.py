"""`asv publish` with the project's configuration, and its pages made to need no network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from asv.benchmarks import Benchmarks

from cputrain.atomic import write_made
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

    asv's runs describe the suites in benchmarks.json. Where none has run, and results have come
    from elsewhere, it is there for this call alone: it would not follow the suites of later ones.

    Args:
        config: asv's configuration file.
        is_offline: the pages are to load their scripts from their own folder.

    Raises:
        RunError: there is nothing to publish, asv failed, a suite cannot be imported, or the
            scripts are not to be had; the pages of the last time are then as they were, unless asv
            itself failed.
    """
    settings = json.loads(config.read_text())
    results = config.parent / settings["results_dir"]
    described = results / "benchmarks.json"
    has_run = described.exists()
    if not has_run and not _has_results(results):
        raise RunError(
            f"nothing to publish: no results of asv in {results}; run python3 bench.py, or merge "
            "results of others, first"
        )
    files = cached.ready() if is_offline else {}
    pages = config.parent / settings["html_dir"]
    if not has_run:
        _describe(config.parent / settings["benchmark_dir"], described)
    try:
        problems = _publish(config)
    finally:
        if not has_run:
            described.unlink(missing_ok=True)
    if is_offline:
        offline.make(pages, files)
    return Published(pages, problems)


def _has_results(results: Path) -> bool:
    """Whether asv has a file of a machine there beside its facts."""
    return any(path.name != "machine.json" for path in results.glob("*/*.json"))


def _describe(suites: Path, path: Path) -> None:
    """Write asv's benchmarks.json as `asv run` does.

    asv's own discovery runs in this Python: an environment would have to be built, and finds the
    same, as suites import no framework.

    Raises:
        RunError: a suite cannot be imported.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        try:
            _asv(["asv.benchmark", "discover", str(suites), str(found)], "discovery of the suites")
        except RunError as error:
            raise RunError(f"{error}; python3 bench.py list names its file") from error
        benchmarks = {benchmark["name"]: benchmark for benchmark in json.loads(found.read_text())}
    write_made(path, json.dumps({**benchmarks, "version": Benchmarks.api_version}))


def _publish(config: Path) -> list[str]:
    """Run it; what it says beside its steps, which is of results that it does not take."""
    said = _asv(["asv", "--config", str(config), "publish", "--no-pull"], "publish")
    return list(dict.fromkeys(line.lstrip("· ") for line in said if line.startswith("··")))


def _asv(words: list[str], what: str) -> list[str]:
    """Run a module of asv's; its lines. Raises RunError with the last one where it fails."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "ASV_PYTHONPATH": str(PROJECT)},
        preexec_fn=dies_with_parent(),
    )
    lines = [re.sub(r"^\[[ \d.]+%\] ", "", line).strip() for line in done.stdout.splitlines()]
    if done.returncode:
        last = next((line for line in reversed(lines) if line), "nothing")
        raise RunError(f"asv {what} failed; it said: {one_line(last.lstrip('· '))}")
    return lines
