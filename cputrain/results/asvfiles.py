"""asv's own files, as far as they are needed: its facts on a machine, and which machines it has.

Numbers are taken from the run records; asv keeps its copy for `asv show`, `compare` and `publish`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.machine import Machine
from asv.util import UserError, load_json

from cputrain import paths
from cputrain.record import files
from cputrain.results.records import Problem, folders

BROKEN = (UserError, OSError, KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What asv's readers raise at a file that is cut off or not theirs."""


def machines(root: Path) -> list[str]:
    """The machines that asv has results of, of full or quick sweeps."""
    return sorted(
        {
            name
            for mode in paths.MODES
            for name in folders(_results(root, mode))
            if any(p.name != "machine.json" for p in (_results(root, mode) / name).glob("*.json"))
        }
    )


def machine_facts(root: Path, machine: str) -> tuple[dict[str, Any], list[Problem]]:
    """What asv's machine.json says, that of full sweeps first; empty where there is none."""
    facts: dict[str, Any] = {}
    problems: list[Problem] = []
    for mode in paths.MODES:
        path = _results(root, mode) / machine / "machine.json"
        if not path.exists():
            continue
        try:
            files.read_bytes(path)
            content = load_json(str(path), Machine.api_version)
            if not isinstance(content["machine"], str):
                raise ValueError("its machine has no name")
            facts = facts or content
        except BROKEN as error:
            problems.append(_problem(path, error))
    return facts, problems


def suites(root: Path) -> tuple[list[str], list[Problem]]:
    """Names of all suites that asv has found, whether they ran or not."""
    names: dict[str, None] = {}
    problems = []
    for mode in paths.MODES:
        path = Path(Benchmarks.get_benchmark_file_path(str(_results(root, mode))))
        if not path.exists():
            continue
        conf = Config()
        conf.results_dir = str(_results(root, mode))
        try:
            files.read_bytes(path)
            names |= dict.fromkeys(name.split(".")[-2] for name in sorted(Benchmarks.load(conf)))
        except BROKEN as error:
            problems.append(_problem(path, error))
    return list(names), problems


def _results(root: Path, mode: str) -> Path:
    return root / "result" / paths.asv_results(mode).name


def _problem(path: Path, error: BaseException) -> Problem:
    """One line; asv's own messages repeat the path."""
    if isinstance(error, files.RecordError):
        return Problem(path, str(error))
    if isinstance(error, OSError):
        return Problem(path, f"cannot be read: {error.strerror}")
    detail = " ".join(str(error).split()).replace(str(path), path.name)
    return Problem(path, f"not usable by asv ({detail}); delete it and run the suites again")
