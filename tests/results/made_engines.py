"""Made-up runs of engines side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from made_project import failure, worker
from settled import settled

from cputrain.experiment import Experiment
from cputrain.record.cell import CellKey
from cputrain.record.worker import WorkerRecord
from cputrain.record.worker import step_s as step_s_of
from cputrain.results.rows import CellResult

SHAPES = {"Framework": settled(), "FrameworkLarger": settled(n_embd=512, n_head=8)}
COMMIT = "c" * 40
SEED = 77


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
    noise: float = 0.002,
    machine: str = "here",
    mode: str = "full",
) -> list[CellResult]:
    """The cells of a run on two shapes with 1 and 2 threads.

    Args:
        ratios: of each engine's step time to torch's, or why it failed.
        slow: what each round is slower by, for all that run in it.
        noise: of a worker's step time.
    """
    rng, cells, place = np.random.default_rng(3), [], 0
    for shape, usual in SHAPES.items():
        for threads in (1, 2):
            for engine, ratio in ratios.items():
                wanted = experiment(engine, usual).but(cores=1 if threads == 1 else None)
                workers: list[WorkerRecord] = []
                for number in range(rounds):
                    place += 1
                    turn = {"round": number + 1, "place": place, "seed": SEED}
                    if isinstance(ratio, str):
                        workers = [failure(wanted, "failed", ratio, turn=turn)]
                        continue
                    step_s = 0.05 * ratio * slow[number] * math.exp(noise * rng.standard_normal())
                    steps = [[float(step_s * (1 + 0.001 * i)) for i in range(5)] for _ in range(3)]
                    place_of = {"cpus": list(range(threads)), "physical_cores": threads}
                    place_of |= {"threads": threads, "omp_threads": threads}
                    workers.append(worker(wanted, steps, turn=turn, placement=place_of))
                failed = isinstance(ratio, str)
                cells.append(
                    CellResult(
                        machine,
                        CellKey(shape, (shape, engine, threads), ("shape", "engine", "threads")),
                        engine,
                        mode,
                        "failed" if failed else "ok",
                        str(ratio) if failed else None,
                        None if failed else step_s_of(workers),
                        tuple(workers),
                        wanted.to_json(),
                        COMMIT,
                    )
                )
    return cells
