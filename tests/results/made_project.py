"""A made-up project: asv's files written by asv's own classes, run records by their own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.machine import Machine
from asv.results import Results
from asv.runner import BenchmarkResult
from asv.util import write_json as asv_json
from msgspec import structs
from settled import settled

from cputrain import paths
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.cell import CellKey, CellRecord
from cputrain.record.noise import Noise
from cputrain.record.sample import Pair, Sample
from cputrain.record.worker import WorkerRecord
from cputrain.report.export import Summary
from cputrain.results import columns
from cputrain.results.columns import Row

SESSION = "20261121T110000-1234"
COUNTS = {
    "n_params": 3_300_000,
    "n_trained": 3_300_000,
    "tokens_per_step": 256,
    "flops_per_step": 10**10,
    "flops_formula": 10**10,
    "flops_by_type": {"fp32": 10**10},
    "memory_estimate_bytes": 7,
    "memory": dict.fromkeys(columns.PARTS, 1),
}
DATA = {"source": "hub", "fingerprint": "ab" * 32, "tokenizer": "bytes"}
AUTO = "auto"
USUAL_S = 0.042
"""Seconds of a step of the baseline."""


def worker(experiment: Experiment, samples: list[list[float]], **others: Any) -> WorkerRecord:
    """A worker of a run record, as a worker that went well leaves it; `others` replace fields."""
    system = experiment.system
    counts = COUNTS | {"tokens_per_step": experiment.training.tokens_per_step}
    given = {
        "id": "0",
        "session": SESSION,
        "run": SESSION,
        "started": "2026-11-21T11:00:00+00:00",
        "wall_s": 30 * 0.042 + 3.0,
        "training_s": 30 * 0.042 + 0.6,
        "mode": "full",
        "status": "ok",
        "experiment": experiment.to_json(),
        "identity": experiment.identity,
        "placement": {
            "cpus": [0, 1],
            "physical_cores": 2,
            "threads": system.intra_op_threads or system.threads or 2,
            "omp_threads": system.threads or 2,
        },
        "phases": {"start_s": 0.1, "import_s": 2.0, "first_step_s": 0.3},
        "samples": [{"step_s": steps, "loss": [5.0] * len(steps)} for steps in samples],
        "peak_rss_bytes": 400_000_000,
        "first_loss": 5.6,
        "last_loss": 3.1,
        "trained": {"steps_asked": 9, "steps_done": 9, "parameters": 4, "parameters_moved": 4},
        "versions": {"python": "3.11.7", "torch": "2.13.0+cpu", "numpy": "2.4.6"},
        "commit": "c" * 40,
        "machine": "here",
        **others,
        "counts": counts | others.get("counts", {}),
        "data": DATA | others.get("data", {}),
    }
    return msgspec.convert(given, WorkerRecord)


def failure(experiment: Experiment, status: str, reason: str | None, **others: Any) -> WorkerRecord:
    """A worker that gave no number: with what every worker has, and no more."""
    whole = worker(experiment, [], status=status, reason=reason, **others)
    kept = ("id", "session", "run", "started", "mode", "status", "reason", "machine")
    named = {name: getattr(whole, name) for name in (*kept, "experiment", "identity", "turn")}
    return WorkerRecord(**named)


def change_sample(worker: WorkerRecord, index: int, **changes: Any) -> None:
    """Put a changed sample in the place of a worker's sample."""
    fields = msgspec.to_builtins(worker.samples[index]) | changes
    worker.samples[index] = msgspec.convert(fields, Sample)


def steps(step_s: float, rng: np.random.Generator, spread: float = 0.005) -> list[list[float]]:
    """Three samples of ten steps of one worker."""
    here = step_s * math.exp(spread * rng.standard_normal())
    return [[float(here * math.exp(0.01 * e)) for e in rng.standard_normal(10)] for _ in range(3)]


def beside(
    worker: WorkerRecord, step_s: float, rng: np.random.Generator, disturbed: Sequence[int] = (),
    throttled_s: float = 0.0,
) -> WorkerRecord:  # fmt: skip
    """A worker that ran beside a reference, a pair of blocks for each of its samples.

    Args:
        worker: with samples.
        step_s: of the reference.
        rng: the source of chance.
        disturbed: numbers of the pairs whose reference's block was.
        throttled_s: that a quota held these back.
    """
    noise = {"throttled_s": throttled_s}
    blocks = itertools.chain.from_iterable(steps(step_s, rng) for _ in worker.samples)
    pairs = [
        {
            "sample": number,
            "reference": {"step_s": block, "loss": [5.0], "disturbed": number in disturbed}
            | ({"noise": noise} if throttled_s and number in disturbed else {}),
            "first": ("cell", "reference")[number % 2],
        }
        for number, block in zip(range(len(worker.samples)), blocks, strict=False)
    ]
    return worker.but(pairs=msgspec.convert(pairs, list[Pair]), reference=f"r{rng.random()}")


def at(
    record: WorkerRecord, ns: float | None, after: float | None = None,
    cpus: tuple[int, int] = (0, 1), at_once: float = 1.0, expected_s: float | None = None,
) -> WorkerRecord:  # fmt: skip
    """The worker, all of its blocks and its reference's with these readings."""
    noise = {"round_trip_before_ns": ns, "round_trip_after_ns": after or ns}
    noise |= {"at_once_before": at_once, "at_once_after": at_once}
    noise |= {"round_trip_cpus": list(cpus), "expected_s": expected_s}
    for number in range(len(record.samples)):
        change_sample(record, number, noise=noise)
    others = [
        structs.replace(pair, reference=structs.replace(pair.reference, noise=Noise(**noise)))
        for pair in record.pairs
    ]
    return record.but(pairs=others)


def rows_of(summary: Summary, suite: str, machine: str = "here") -> dict[str, Row]:
    """An export's rows of a suite, by value."""
    mine = [row for row in summary.rows_of(machine) if row["suite"] == suite]
    return {row["value"]: row for row in mine}


class Project:
    """A project folder. `suite` declares, `cell` fills, `save` writes asv's files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.rng = np.random.default_rng(7)
        self.benchmarks: dict[str, dict[str, Any]] = {}
        self.samples: dict[tuple[str, str], dict[str, list[Any]]] = {}
        self.keys: dict[str, CellKey] = {}
        self.values: dict[str, tuple[Any, ...]] = {}

    def suite(
        self, name: str, field: str, values: tuple[Any, ...], version: str = "1", *,
        baseline: Any = AUTO, description: str = "",
    ) -> None:  # fmt: skip
        """One benchmark as asv's discovery describes it.

        Its baseline is the value that is the field's default, or the first where the field is
        made up; None is none.
        """
        if baseline == AUTO:
            usual = Experiment().flat().get(field, values[0])
            baseline = "all" if usual is None else usual
        base = None if baseline is None else paths.cell_name((baseline,))
        self.keys[name] = CellKey(name, values[:1], (field,), "Made up.", description, base)
        self.values[name] = values
        self.benchmarks[name] = {
            "name": f"model.{name}.time_train_steps",
            "params": [[repr(value) for value in values]],
            "param_names": [field],
            "version": version,
            "unit": "seconds",
            "type": "time",
        }

    def record(
        self, suite: str, value: Any, workers: list[WorkerRecord], *,
        machine: str = "here", mode: str = "full",
    ) -> Path:  # fmt: skip
        """A run record."""
        folder = self.root / "output" / machine / ("quick" if mode == "quick" else ".")
        key = self.keys.get(suite) or CellKey(suite, (value,))
        values = self.values.get(suite, (value,))
        key = structs.replace(key, values=(value,), index=values.index(value))
        path = folder / suite / key.name / "run.json"
        mine = [worker.but(machine=machine, mode=mode) for worker in workers]
        files.write(path, CellRecord(key=key, workers=mine))
        return path

    def result(
        self, suite: str, value: Any, samples: list[float] | float | None, *,
        machine: str = "here", mode: str = "full",
    ) -> None:  # fmt: skip
        """What asv is to hold of a cell: samples, None for a failure, NaN for a skip."""
        self.samples.setdefault((machine, mode), {}).setdefault(suite, []).append((value, samples))

    def cell(
        self, suite: str, value: Any, step_s: float, experiment: Experiment | None = None, *,
        machine: str = "here", mode: str = "full", workers: int = 2,
        reference: float | None = USUAL_S, first_s: float | None = None,
        disturbed: Sequence[int] = (), throttled_s: float = 0.0, **others: Any,
    ) -> list[WorkerRecord]:  # fmt: skip
        """A cell that went well, in both; its workers.

        Each of them is a pass beside a reference of that step time; None is none. The first one's
        step takes `first_s`, where that is given. `disturbed` are numbers of pairs, see `beside`.
        """
        times = [first_s or step_s, *[step_s] * (workers - 1)]
        made = [
            worker(experiment or settled(), steps(each_s, self.rng), mode=mode, **others)
            for each_s in times
        ]
        if reference is not None:
            made = [beside(record, reference, self.rng, disturbed, throttled_s) for record in made]
        self.record(suite, value, made, machine=machine, mode=mode)
        samples = [sample.median_s for worker in made for sample in worker.samples]
        self.result(suite, value, [float(f"{s:.5g}") for s in samples], machine=machine, mode=mode)
        return made

    def page(self) -> str:
        """The page that an export wrote."""
        return (self.root / "result" / "README.md").read_text()

    def page_of(self, name: str, machine: str = "here") -> str:
        """The page of a suite, or another further one, that an export wrote."""
        return (self.root / "result" / machine / f"{name}.md").read_text()

    def save(
        self, commit: str = "c" * 40, date: int = 1_000, machine: dict[str, str] | None = None,
        variables: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Write asv's files: benchmarks.json, machine.json, one result file for each machine.

        `variables` are those of the environment, which asv's name for it ends in.
        """
        environment = "-".join(["virtualenv-py3.11", *map("".join, (variables or {}).items())])
        for (name, mode), suites in self.samples.items():
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
        self.samples = {}

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
