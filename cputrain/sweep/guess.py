"""How long a cell may take that this machine has not run yet. Standard library only."""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.model import flops
from cputrain.run import placement

START_S = {"torch": 4.0, "numpy": 2.0, "jax": 3.0, "native": 2.0, "ipex": 6.0}
"""Seconds until the first step, by engine."""
COMPILE_S: dict[str | None, float] = {"eager": 0.0, "aot_eager": 6.0, "inductor": 25.0, "xla": 3.0}
ASSUMED_FLOPS = 60e9
"""Rate of one core."""
SLOWER = {
    "bf16": 19.0, "mixed": 19.0, "q8": 10.0, "q8_torchao": 10.0, "q4": 1.2, "bitnet": 1.2,
    "bitnet_torchao": 5.5, "lstm": 3.0, "ssm": 3.0, "O0": 15.0,
}  # fmt: skip
"""Step time over fp32's and gpt's at as many FLOPs, on a CPU without bf16 or int8 products; O0 is
the native engine's level."""
STEPS_AFTER_FIRST = 20
"""Steps that follow a timed first one."""
LOOKS = 4
"""Micro-batches outside the clock: the loss before and after, a profiled pass, a proof."""


def guess_s(experiment: Experiment) -> float:
    """Seconds that one worker of `experiment` may take, knowing nothing of this machine."""
    placed = placement.place(experiment)
    runtime, training, budget = experiment.runtime, experiment.training, experiment.budget
    micro = flops.flops_per_step(experiment).total / ASSUMED_FLOPS / training.grad_accum
    micro *= SLOWER.get(training.precision, 1.0) * SLOWER.get(experiment.model.architecture, 1.0)
    micro *= SLOWER.get(runtime.cc_level, 1.0)
    micro /= min(placed.threads, len(placed.cpus))
    step = micro * (budget.micro_batches or training.grad_accum)
    start = START_S[runtime.engine] + COMPILE_S[runtime.compile]
    if runtime.jit_state != "steady":  # a warm start needs a cold one before it
        return start * (2 if runtime.jit_state == "warm" else 1) + STEPS_AFTER_FIRST * step
    warm_up = min(budget.warm_up_steps * step, max(budget.warm_up_s, 2 * step))
    timed = budget.steps * budget.samples * step
    return start + step + warm_up + timed + LOOKS * micro
