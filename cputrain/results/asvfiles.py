"""Reads asv's results through asv's own classes: the newest value of every cell of a machine."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.machine import Machine
from asv.results import Results, iter_results_paths
from asv.util import UserError, load_json

from cputrain.results.records import Problem

METHOD = "time_train_steps"
BROKEN = (UserError, OSError, KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What asv's readers raise at a file that is cut off or not theirs."""


@dataclass(frozen=True)
class AsvCell:
    """What asv knows of a cell.

    Attributes:
        values: the values of the suite's parameters.
        state: "value", "failed" (asv's null), or "absent" (its NaN: skipped or never run).
        step_s: asv's seconds per step, where there is a value.
        commit: the commit that it was measured at.
    """

    values: tuple[Any, ...]
    state: str
    step_s: float | None = None
    commit: str | None = None


@dataclass(frozen=True)
class AsvSuite:
    """One suite that asv knows, and all its cells in the suite's order."""

    name: str
    param_names: tuple[str, ...]
    cells: tuple[AsvCell, ...]


def machines(results_dir: Path) -> list[str]:
    """Folders of asv's results directory that hold a machine's results."""
    return sorted({path.parent.name for path in results_dir.glob("*/*.json")})


def machine_facts(results_dir: Path, machine: str) -> tuple[dict[str, Any], list[Problem]]:
    """What asv's machine.json says; empty where there is none."""
    path = results_dir / machine / "machine.json"
    if not path.exists():
        return {}, []
    try:
        facts = load_json(str(path), Machine.api_version)
        if not isinstance(facts["machine"], str):
            return {}, [Problem(path, "its machine has no name; delete it and run again")]
    except BROKEN as error:
        return {}, [_problem(path, error)]
    return facts, []


def read(results_dir: Path, machine: str) -> tuple[list[AsvSuite], list[Problem]]:
    """Every suite of `results_dir` with what asv has for `machine`, and the broken files.

    A cell's value is that of the newest commit that has one; results of another
    version of the suite do not count.
    """
    path = Path(Benchmarks.get_benchmark_file_path(str(results_dir)))
    if not path.exists():
        return [], []
    conf = Config()
    conf.results_dir = str(results_dir)
    try:
        benchmarks = Benchmarks.load(conf)
        ours = [b for b in benchmarks.values() if b["name"].split(".")[-1] == METHOD]
        empty = [_suite(benchmark, []) for benchmark in ours]
    except BROKEN as error:
        return [], [_problem(path, error)]
    results, problems = _results(results_dir / machine)
    try:
        for one in results:
            one.keys = one.result.get_result_keys(benchmarks)
        return [_suite(benchmark, results) for benchmark in ours], problems
    except BROKEN as error:
        return empty, [*problems, _problem(results_dir / machine, error)]


@dataclass
class _One:
    result: Any
    keys: frozenset[str] | set[str] = frozenset()


def _results(folder: Path) -> tuple[list[_One], list[Problem]]:
    """asv's result files of one machine, the newest commit first."""
    if not any(path.name != "machine.json" for path in folder.glob("*.json")):
        return [], []
    _, problems = machine_facts(folder.parent, folder.name)
    if problems:
        return [], []  # told by who reads the facts; asv takes no result without them
    if not (folder / "machine.json").exists():
        return [], [Problem(folder / "machine.json", "missing, so asv's results here do not count")]
    found, problems = [], []
    for root, name, machine in iter_results_paths(str(folder)):
        try:
            found.append(_One(Results.load(str(Path(root) / name), machine_name=machine)))
        except BROKEN as error:
            problems.append(_problem(Path(root) / name, error))
    return sorted(found, key=lambda one: _age(one.result), reverse=True), problems


def _age(result: Any) -> tuple[int, int]:
    started = [at for at in result.started_at.values() if isinstance(at, int)]
    return int(result.date or 0), max(started, default=0)


def _suite(benchmark: dict[str, Any], results: list[_One]) -> AsvSuite:
    key, params = benchmark["name"], benchmark["params"]
    states = [AsvCell(tuple(map(_value, words)), "absent") for words in itertools.product(*params)]
    for index, words in enumerate(itertools.product(*params)):
        for found in _found(key, params, index, words, results):
            states[index] = AsvCell(states[index].values, *found)
            break
    return AsvSuite(key.split(".")[-2], tuple(benchmark["param_names"]), tuple(states))


def _found(
    key: str, params: Any, index: int, words: tuple[str, ...], results: list[_One]
) -> Iterator[tuple[str, float | None, str]]:
    """What each commit says of a cell, without those that never ran it; newest commit first."""
    for one in results:
        if key not in one.keys:
            continue
        # asv gives None for a value that the suite did not have then, as for one that failed.
        if words not in itertools.product(*one.result.get_result_params(key)):
            continue
        value = one.result.get_result_value(key, params)[index]
        if value is None:
            yield "failed", None, one.result.commit_hash
        elif not math.isnan(value):
            yield "value", float(value), one.result.commit_hash


def _value(text: str) -> Any:
    """A parameter from asv's repr of it; what is no literal stays text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _problem(path: Path, error: BaseException) -> Problem:
    """One line; asv's own messages repeat the path."""
    if isinstance(error, OSError):
        return Problem(path, f"cannot be read: {error.strerror}")
    detail = " ".join(str(error).split()).replace(str(path), path.name)
    return Problem(path, f"not usable by asv ({detail}); delete it and run the suites again")
