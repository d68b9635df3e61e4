"""How much of a step is run while settings race, and how long that may take.

A step of seconds leaves a race few blocks. What most settings change shows in a few sequences as
well: they race in micro-batches of fewer, and of those that a step sums up one is run, with the
update, the others reckoned (`budget.micro_batches`), and so is what whole ones take
of fresh memory beyond that (`unseen`). The winner is put to the test in whole micro-batches.
Where a micro-batch alone would not tell (`Spec.runs_alone`), whole steps race.
"""

from __future__ import annotations

from collections.abc import Callable

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.model import flops
from cputrain.run import placement
from cputrain.sweep.durations import ASSUMED_FLOPS, SLOWER

AsRun = Callable[[Experiment], Experiment]
"""What of an experiment is run while it races."""
MICRO_S = 0.8
"""Seconds of a micro-batch, guessed, from which races have smaller ones."""
WHOLE_S = 0.5
"""Seconds of a step, guessed, from which one of its micro-batches is run."""
TOKENS = 256
"""Of a micro-batch at least: matrix products of fewer rows are another thing."""
STEPS = 6
"""That a worker runs until it is warm: the first loss, the first step, a warm-up, a profile."""


def micro_s(experiment: Experiment) -> float:
    """A guess at the seconds of a micro-batch, knowing nothing of the machine but its cores."""
    step = flops.flops_per_step(experiment).total / experiment.training.grad_accum
    slower = SLOWER.get(experiment.model.architecture, 1.0)
    placed = placement.place(experiment)
    return step * slower / ASSUMED_FLOPS / min(placed.threads, placed.physical_cores)


def composed(experiment: Experiment) -> Experiment:
    """The same, with one micro-batch run of those of a long step."""
    accum = experiment.training.grad_accum
    is_long = micro_s(experiment) * accum > WHOLE_S and experiment.system.processes is None
    is_long = is_long and specs.of(experiment.runtime.engine).runs_alone
    budget = {"steps": None, "warm_up_s": 1.5, "warm_up_steps": 30}
    return experiment.but(micro_batches=1 if accum > 1 and is_long else None, **budget)


def reduced(experiment: Experiment) -> Experiment:
    """The same step in smaller micro-batches, where whole ones take long; `composed`."""
    training = experiment.training
    batch = training.batch_size
    is_divisible = (
        training.objective != "forward" and specs.of(experiment.runtime.engine).runs_alone
    )
    if is_divisible and micro_s(experiment) > MICRO_S:
        sizes = [n for n in range(1, batch + 1) if not batch % n and n * training.seq_len >= TOKENS]
        each = micro_s(experiment) / batch
        fitting = [size for size in sizes if size * each <= MICRO_S]
        batch = max(fitting) if fitting else min(sizes, default=batch)
    fewer = training.batch_size // batch
    if fewer > 1:
        chunk = experiment.runtime.loss_chunk
        fits = chunk is None or chunk <= batch * training.seq_len
        experiment = experiment.but(
            batch_size=batch,
            grad_accum=training.grad_accum * fewer,
            loss_chunk=chunk if fits else None,
        )
    return composed(experiment)


def is_alike(experiment: Experiment, other: Experiment) -> bool:
    """Whether as many tokens of a step are really computed, the reckoned ones not among them."""
    first, second = (
        each.training.batch_size * (each.budget.micro_batches or each.training.grad_accum)
        for each in (experiment, other)
    )
    return first == second


def start_s(experiment: Experiment) -> float:
    """A guess at the seconds until a worker is warm."""
    start_s = specs.of(experiment.runtime.engine).start_s
    return start_s + compile_s(experiment) + STEPS * block_s(experiment) + 1.5


def compile_s(experiment: Experiment) -> float:
    """Of these, what compiling takes."""
    spec = specs.of(experiment.runtime.engine)
    return spec.compile_s.get(experiment.runtime.compile or "", 0.0)


def block_s(experiment: Experiment) -> float:
    """A guess at the seconds that a step is run for, reckoned ones aside."""
    return micro_s(experiment) * (experiment.budget.micro_batches or experiment.training.grad_accum)


def same(experiment: Experiment, other: Experiment) -> bool:
    """Whether two experiments run the same, and as much of a step of it."""
    micro = experiment.budget.micro_batches == other.budget.micro_batches
    return experiment.identity == other.identity and micro


def hides(experiment: Experiment, other: Experiment, as_run: AsRun) -> bool:
    """Whether something that two differ in is the same in what is run of them."""
    whole, run = (
        [each.flat() for each in both]
        for both in ((experiment, other), (as_run(experiment), as_run(other)))
    )
    return same(as_run(experiment), as_run(other)) or any(
        whole[0][name] != whole[1][name] and run[0][name] == run[1][name]
        for name in ("batch_size", "loss_chunk")
    )
