"""Made-up runs of engines beside torch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from made_project import worker
from settled import settled

from cputrain.analysis.side_by_side.ratios import Measured
from cputrain.experiment import Experiment
from cputrain.record.cell import CellKey
from cputrain.record.releases import TakenPair
from cputrain.record.sample import Pair
from cputrain.record.worker import WorkerRecord
from cputrain.record.worker import step_s as step_s_of
from cputrain.results.rows import CellResult

SHAPES = {"Framework": settled(), "FrameworkLarger": settled(n_embd=512, n_head=8)}
COMMIT = "c" * 40
SEED = 77
STEP_S = 0.05
PAIRS = 12


def experiment(engine: str, usual: Experiment) -> Experiment:
    """What the value of that name runs."""
    if engine.startswith("torch"):
        return usual
    jax = engine == "jax"
    changes = {"compile": "xla"} if jax else {"attention_backend": "manual"}
    return usual.but(engine="jax" if jax else "numpy", **changes)


def run(
    ratios: Mapping[str, float | str],
    rounds: int = 3,
    slow: Sequence[float] = (1.0, 1.0, 1.0),
    workers: Mapping[str, float] | None = None,
    blocks: float = 0.01,
    machine: str = "here",
    mode: str = "full",
    pairs: int = PAIRS,
    seed: int = 3,
) -> list[Measured]:
    """The cells of a run on two shapes with 1 and 2 threads.

    Args:
        ratios: of each engine's step time to torch's, or why it failed.
        slow: what each round is slower by, for all that run in it.
        workers: by engine, standard deviation of the logarithm of a worker's step time; 0.002.
        blocks: the same of a block.
    """
    rng, measured, place = np.random.default_rng(seed), [], 0
    spread = dict.fromkeys(ratios, 0.002) | dict(workers or {})
    for shape, usual in SHAPES.items():
        for threads in (1, 2):
            references = [spread["torch"] * rng.standard_normal() for _ in range(rounds)]
            for engine, ratio in ratios.items():
                wanted = experiment(engine, usual).but(cores=1 if threads == 1 else None)
                key = CellKey(shape, (shape, engine, threads), ("shape", "engine", "threads"))
                taken = []
                for number in range(rounds):
                    place += 1
                    if isinstance(ratio, str):
                        continue
                    log = math.log(STEP_S * slow[number])
                    own = log + math.log(ratio) + spread[engine] * rng.standard_normal()
                    drawn = blocks * rng.standard_normal((2, pairs))
                    record = _worker(
                        wanted,
                        np.exp(own + drawn[0]),
                        np.exp(log + references[number] + drawn[1]),
                        {"round": number + 1, "place": place, "seed": SEED},
                        threads,
                    )
                    beside = worker(usual, [], id="r", reference="r")
                    sides = (0, 0 if engine == "torch" else 1)
                    taken.append(
                        TakenPair(
                            key=key,
                            number=number + 1,
                            sides=sides,
                            reference=beside,
                            worker=record,
                            status="ok",
                        )
                    )
                measured.append(_measured(key, engine, ratio, taken, wanted, machine, mode))
    return measured


def _worker(
    wanted: Experiment, own: Sequence[float], beside: Sequence[float], turn: dict, threads: int
) -> WorkerRecord:
    place = {"cpus": list(range(threads)), "physical_cores": threads}
    place |= {"threads": threads, "omp_threads": threads}
    record = worker(
        wanted,
        [[float(step)] for step in own],
        id=f"w{turn['place']}",
        turn=turn,
        placement=place,
        forked=False,
        reference="r",
    )
    pairs = [
        {
            "sample": number,
            "reference": {"step_s": [float(step)], "loss": [5.0]},
            "first": ("cell", "reference")[number % 2],
        }
        for number, step in enumerate(beside)
    ]
    return record.but(pairs=msgspec.convert(pairs, list[Pair]))


def _measured(
    key: CellKey,
    engine: str,
    ratio: float | str,
    taken: Sequence[TakenPair],
    wanted: Experiment,
    machine: str,
    mode: str,
) -> Measured:
    workers = tuple(pair.worker for pair in taken)
    failed = isinstance(ratio, str)
    cell = CellResult(
        machine,
        key,
        engine,
        mode,
        "failed" if failed else "ok",
        str(ratio) if failed else None,
        None if failed else step_s_of(workers),
        workers,
        wanted.to_json(),
        COMMIT,
    )
    return Measured(cell, taken)
