"""Whole tunings on simulated machines: what share of the time their choice really takes.

`python -m tests.live.simulated_tunings wiki-24m --tunings 40 --noise 0.12` prints, for the
production code of `tune`, the true ratio of what it recommends (1 where it confirms nothing) and
of what it tests, how many tunings confirmed it, and the commonest choices. Workers import their
engine and compile for as long as is guessed (`engines.specs`), run six micro-batches until they are
warm, and differ; the host drifts, and bursts (`simulated_workers`). The true effects (`EFFECTS`)
are those that were measured on two cores of an EPYC (docs/figures/tunings.md), rounded.
"""

import argparse
import collections
import contextlib
import io
import math
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from roots import take_root
from simulated_workers import Simulated, identical

from cputrain.analysis.tuning import known
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.experiment.presets import PRESETS
from cputrain.machine import library_search
from cputrain.record.sample import Sample
from cputrain.run.session import Session
from cputrain.sweep.tuning import reduced
from cputrain.sweep.tuning.planned import PlannedTuning
from cputrain.sweep.tuning.verb import Tune
from cputrain.sweep.tuning.workers import Running
from cputrain.worker import blocks

SLOWNESS = 1.3
"""Of the machine: seconds of a step over those that are guessed."""
FRESH = 0.13
"""Of a torch step of `wiki-24m`, what its fresh memory takes."""
FRESH_PAGES = 236_000
FEW_THREADS = 1.7


class Starting(Simulated):
    """Workers that take as long to be warm as is guessed of real ones.

    Args:
        compiling: times what is guessed of compilation.
    """

    def __init__(self, *args: Any, compiling: float = 1.0, **machine: Any) -> None:
        super().__init__(*args, **machine)
        self._compiling = compiling

    def start(self, experiment: Experiment, within_s: float) -> Running:
        """See `Workers`."""
        spec = specs.of(experiment.runtime.engine)
        compile_s = spec.compile_s.get(experiment.runtime.compile or "", 0.0)
        imports_s = spec.start_s + self._compiling * compile_s
        looks_s = 2 * self.step_s(experiment) * self._share(experiment) + 0.5
        self.start_s = imports_s + looks_s
        running: Running = super().start(experiment, within_s)
        return running

    def block(self, worker: Running) -> Sample:
        """See `Workers`; a short step before it does not count."""
        run_s = self.true_s[worker.name] * self._share(worker.experiment)
        for _ in range(blocks.discarded(run_s)):
            self._took(self.true_s[worker.name], worker.experiment)
        sample: Sample = super().block(worker)
        return sample


def _wiki(flat: dict[str, Any]) -> float:
    if flat["engine"] == "native":
        ratio = 0.65 if flat["matmul_backend"] == "openblas" else 0.78
        return ratio * (0.98 if flat["wait_policy"] == "active" else 1.0)
    if flat["engine"] == "jax":
        return 1.4
    is_fresh = flat["allocator"] != "glibc_thresholds" and flat["loss_chunk"] is None
    fresh = FRESH if is_fresh and flat["batch_size"] >= 8 else 0.0
    slower = {"compile": ("inductor", 1.05), "allocator": ("mimalloc", 1.15)}
    slower |= {"attention_backend": ("manual", 1.04), "matmul_backend": ("onednn", 1.03)}
    rest = math.prod(by for name, (value, by) in slower.items() if flat[name] == value)
    return (1 - FRESH + fresh * (0.4 if flat["huge_pages"] == "madvise" else 1.0)) * rest


def _mlm(flat: dict[str, Any]) -> float:
    by = {"activation_checkpointing": (False, 0.72), "matmul_backend": ("onednn", 0.98)}
    by |= {"allocator": ("glibc_thresholds", 0.98), "attention_backend": ("manual", 1.05)}
    micro = {1: 1.0, 2: 0.9, 4: 0.84}.get(flat["batch_size"], 0.9)
    return micro * math.prod(ratio for name, (value, ratio) in by.items() if flat[name] == value)


def _llm(flat: dict[str, Any]) -> float:
    micro = {1: 1.05, 2: 1.0, 4: 0.975, 8: 0.985}.get(flat["batch_size"], 1.0)
    if flat["engine"] == "native":
        small = {"omp_runtime": ("libiomp5", 0.99), "wait_policy": ("active", 0.995)}
        small |= {"loader_workers": (1, 0.995), "huge_pages": ("madvise", 0.995)}
        micro *= math.prod(by for name, (value, by) in small.items() if flat[name] == value)
        micro *= {"glibc_thresholds": 0.995, "mimalloc": 0.99}.get(flat["allocator"], 1.0)
        return micro * (0.62 if flat["matmul_backend"] == "openblas" else 0.64)
    if flat["engine"] == "jax":
        return 1.2 * micro
    compiled = 0.83 if flat["compile"] == "inductor" else 1.0
    return micro * compiled * (0.92 if flat["allocator"] == "glibc_thresholds" else 1.0)


def _nothing(flat: dict[str, Any]) -> float:
    """Of `llm-25m`, but that no change of own C gives anything."""
    if flat["engine"] == "native":
        return 0.63
    return (1.2 if flat["engine"] == "jax" else 1.0) * (0.83 if flat["compile"] else 1.0)


def _micro_batch(flat: dict[str, Any]) -> float:
    """The same, but that micro-batches of 4 do."""
    return _nothing(flat) * (0.975 if flat["batch_size"] == 4 else 1.0)


EFFECTS = {"wiki-24m": _wiki, "mlm-80m-short": _mlm, "llm-25m": _llm}
EFFECTS |= {"llm-25m:nothing": _nothing, "llm-25m:micro-batch": _micro_batch}
"""By preset, perhaps with another world."""


def ratio(name: str, experiment: Experiment) -> float:
    """Time of a step, of that of a preset as it is."""
    flat = experiment.flat()
    return EFFECTS[name](flat) * (FEW_THREADS if flat["threads"] == 1 else 1.0)


def tuned(
    name: str,
    seed: int,
    noise: float,
    minutes: float,
    kept: tuple[str, ...],
    slowness: float = SLOWNESS,
    compiling: float = 1.0,
) -> Tune:
    """One tuning of a preset on a simulated machine."""
    preset = PRESETS[name.partition(":")[0]].experiment
    usual = specs.settle(preset)
    usual_s = slowness * reduced.micro_s(usual) * usual.training.grad_accum
    step_s: Callable[[Experiment], float] = lambda e: usual_s * ratio(name, e)  # noqa: E731
    page_s = FRESH * usual_s / FRESH_PAGES
    workers = Starting(step_s, seed, noise=noise, page_s=page_s, compiling=compiling)
    planned = PlannedTuning(preset, 60 * minutes, (), kept, seed, "")
    tuning = Tune(planned, workers.now)
    with contextlib.redirect_stdout(io.StringIO()):
        tuning.choose()
        tuning.begin(Session.from_env())
        tuning.tune(workers)
    return tuning


def changed(choice: Experiment, default: dict[str, Any]) -> list[str]:
    """Fields of a choice that are not the default's, with their values."""
    usual = Experiment.from_json(default).flat()
    return [f"{name}={value}" for name, value in choice.flat().items() if value != usual[name]]


def main() -> None:
    """Tune, and print what came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("preset", choices=EFFECTS)
    parser.add_argument("--tunings", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--noise", type=float, default=0.08)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--keep", default="", help="fields, as of tune")
    parser.add_argument("--records", type=int, default=0, help="A/A passes of each engine")
    parser.add_argument("--slowness", type=float, default=SLOWNESS, help="of the machine")
    parser.add_argument("--compiling", type=float, default=1.0, help="of what is guessed")
    args = parser.parse_args()
    fields = tuple(filter(None, args.keep.split(",")))
    recommended, tested, took = [], [], []
    choices: collections.Counter[str] = collections.Counter()
    levels: collections.Counter[str] = collections.Counter()
    for seed in range(args.first, args.first + args.tunings):
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
            take_root(patch, Path(name))
            passes = identical(args.records, seed)
            patch.setattr(known, "identical_passes", lambda cells, engine, p=passes: p)
            library = Path(name) / "library.so"
            library.write_bytes(Path("/proc/self/exe").read_bytes()[:20])
            both = ":".join(f"{each}={library}" for each in ("libiomp5", "mimalloc"))
            patch.setenv(library_search.VARIABLE, both)
            speed = args.slowness, args.compiling
            tuning = tuned(args.preset, seed, args.noise, args.minutes, fields, *speed)
            track = tuning.tracks[0]
            record, best = track.account.record, track.recommended
        took.append(record.took_s)
        choice = None if record.tuned is None else Experiment.from_json(record.tuned)
        tested.append(1.0 if choice is None else ratio(args.preset, choice))
        recommended.append(1.0 if best is None else ratio(args.preset, best))
        kept = [] if choice is None else changed(choice, record.default)
        levels.update(level.label for level in record.levels if level.is_chosen)
        choices[f"{'no ' if best is None else ''}{', '.join(kept)}"] += 1
    confirmed = sum(count for choice, count in choices.items() if choice[:3] != "no ")
    means = [math.exp(statistics.mean(map(math.log, each))) for each in (recommended, tested)]
    print(
        f"took {statistics.mean(took):.0f} s; recommended {means[0]:.4f}x, tested {means[1]:.4f}x, "
        f"confirmed {confirmed}"
    )
    for choice, count in choices.most_common(6):
        print(f"  {count}  {choice}")
    print(
        "of its engine's changes: " + ", ".join(f"{n} {each}" for each, n in levels.most_common())
    )


if __name__ == "__main__":
    main()
