"""A made-up project: asv's files written by asv's own classes, run records by their schema."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.machine import Machine
from asv.results import Results
from asv.runner import BenchmarkResult
from asv.util import write_json as asv_json
from settled import settled

from cputrain import paths
from cputrain.atomic import write_json
from cputrain.experiment import Experiment
from cputrain.report.export import Summary
from cputrain.results.columns import Row

SESSION = "20261121T110000-1234"


def worker(experiment: Experiment, samples: list[list[float]], **others: Any) -> dict[str, Any]:
    """A worker of a run record, as a worker that went well leaves it."""
    tokens, system = experiment.training.tokens_per_step, experiment.system
    return {
        "id": "0",
        "session": SESSION,
        "started": "2026-11-21T11:00:00+00:00",
        "wall_s": 30 * 0.042 + 3.0,
        "training_s": 30 * 0.042 + 0.6,
        "mode": "full",
        "status": "ok",
        "reason": None,
        "experiment": experiment.to_json(),
        "identity": experiment.identity,
        "placement": {
            "cpus": [0, 1],
            "threads": system.intra_op_threads or system.threads or 2,
            "omp_threads": system.threads or 2,
        },
        "phases": {"start_s": 0.1, "import_s": 2.0, "first_step_s": 0.3},
        "samples": [
            {"step_s": steps, "loss": [5.0] * len(steps), "tries": 1, "disturbed": False}
            for steps in samples
        ],
        "counts": {"n_params": 3_300_000, "tokens_per_step": tokens, "flops_per_step": 10**10},
        "peak_rss_bytes": 400_000_000,
        "first_loss": 5.6,
        "last_loss": 3.1,
        "data": {"source": "hub", "fingerprint": "ab" * 32, "tokenizer": "bytes"},
        "versions": {"python": "3.11.7", "torch": "2.13.0+cpu", "numpy": "2.4.6"},
        "commit": "c" * 40,
        "dirty": [],
        "machine": "here",
        **others,
    }


def failure(experiment: Experiment, status: str, reason: str, **others: Any) -> dict[str, Any]:
    """A worker that gave no number: with what every worker has, and no more."""
    whole = worker(experiment, [], status=status, reason=reason, **others)
    kept = ("session", "started", "mode", "status", "reason", "experiment", "identity", "machine")
    return {name: whole[name] for name in kept}


def steps(step_s: float, rng: np.random.Generator, spread: float = 0.01) -> list[list[float]]:
    """Three samples of ten steps of one worker."""
    here = step_s * math.exp(spread * rng.standard_normal())
    return [[float(here * math.exp(0.01 * e)) for e in rng.standard_normal(10)] for _ in range(3)]


def rows_of(summary: Summary, suite: str, machine: str = "here") -> dict[str, Row]:
    """An export's rows of a suite, by value."""
    mine = [r for r in summary.rows if (r["suite"], r["machine"]) == (suite, machine)]
    return {row["value"]: row for row in mine}


class Project:
    """A project folder. `suite` declares, `cell` fills, `save` writes asv's files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.rng = np.random.default_rng(7)
        self.benchmarks: dict[str, dict[str, Any]] = {}
        self.found: dict[tuple[str, str], dict[str, list[Any]]] = {}

    def suite(self, name: str, field: str, values: tuple[Any, ...], version: str = "1") -> None:
        """One benchmark as asv's discovery describes it."""
        self.benchmarks[name] = {
            "name": f"model.{name}.time_train_steps",
            "params": [[repr(value) for value in values]],
            "param_names": [field],
            "version": version,
            "unit": "seconds",
            "type": "time",
        }

    def record(
        self, suite: str, value: Any, workers: list[dict[str, Any]], *,
        machine: str = "here", mode: str = "full",
    ) -> Path:  # fmt: skip
        """A run record."""
        folder = self.root / "output" / machine / ("quick" if mode == "quick" else ".")
        path = folder / suite / paths.cell_name((value,)) / "run.json"
        cell = paths.cell_name((value,))
        whole = {"schema": 1, "suite": suite, "value": [value], "cell": cell, "workers": workers}
        write_json(path, whole)
        return path

    def result(
        self, suite: str, value: Any, samples: list[float] | float | None, *,
        machine: str = "here", mode: str = "full",
    ) -> None:  # fmt: skip
        """What asv is to hold of a cell: samples, None for a failure, NaN for a skip."""
        self.found.setdefault((machine, mode), {}).setdefault(suite, []).append((value, samples))

    def cell(
        self, suite: str, value: Any, step_s: float, experiment: Experiment | None = None, *,
        machine: str = "here", mode: str = "full", workers: int = 2, **others: Any,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """A cell that went well, in both; its workers."""
        made = [
            worker(experiment or settled(), steps(step_s, self.rng), mode=mode, **others)
            for _ in range(workers)
        ]
        self.record(suite, value, made, machine=machine, mode=mode)
        samples = [float(np.median(s["step_s"])) for w in made for s in w["samples"]]
        self.result(suite, value, [float(f"{s:.5g}") for s in samples], machine=machine, mode=mode)
        return made

    def page(self) -> str:
        """The page that an export wrote."""
        return (self.root / "result" / "README.md").read_text()

    def save(
        self, commit: str = "c" * 40, date: int = 1_000, machine: dict[str, str] | None = None,
        variables: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Write asv's files: benchmarks.json, machine.json, one result file for each machine.

        `variables` are those of the environment, which asv's name for it ends in.
        """
        environment = "-".join(["virtualenv-py3.11", *map("".join, (variables or {}).items())])
        for (name, mode), suites in self.found.items():
            results_dir = self.root / "result" / ("asv-quick" if mode == "quick" else "asv")
            conf = Config()
            conf.results_dir = str(results_dir)
            Benchmarks(conf, list(self.benchmarks.values())).save()
            facts = {"os": "Linux 6.18", "arch": "x86_64", "cpu": "AMD EPYC", "num_cpu": "2"}
            facts |= {"ram": "25276502016", "machine": name, **(machine or {})}
            asv_json(str(results_dir / name / "machine.json"), facts, Machine.api_version)
            results = Results(facts, {}, commit, date, "3.11", environment, variables or {})
            for suite, cells in suites.items():
                self._add(results, self.benchmarks[suite], dict(cells))
            results.save(str(results_dir))
        self.found = {}

    @staticmethod
    def _add(results: Results, benchmark: dict[str, Any], cells: dict[Any, Any]) -> None:
        by_words = {(repr(value),): samples for value, samples in cells.items()}
        made: list[tuple[Any, Any, Any]] = []
        for words in itertools.product(*benchmark["params"]):
            samples = by_words.get(words, math.nan)
            measured = isinstance(samples, list)
            made.append((0.0, samples, 1) if measured else (samples, None, None))
        result, samples, number = (list(part) for part in zip(*made, strict=True))
        whole = BenchmarkResult(result, samples, number, 0, "", None)
        results.add_result(benchmark, whole, record_samples=True)
