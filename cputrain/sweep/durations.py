"""How long suites will take: what they took here before, or a guess."""

from __future__ import annotations

from collections.abc import Iterable

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.model import flops
from cputrain.results import records
from cputrain.results.stored import Place
from cputrain.run import placement
from cputrain.sweep import plan
from cputrain.worker import blocks

SUITE_S = 2.0
"""Of a suite beside its cells: references, a share of an asv call's start."""
TAKE_OVER_S = 0.5
"""Of a cell whose measurement is another's."""
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
FORKED_S = 1.0
"""Until the first step, of a worker whose engine is imported already."""
REFERENCE_BLOCK_S = 0.16
"""Of the reference beside it, with the step that is discarded."""
LOOKS = 4
"""Micro-batches outside the clock: the loss before and after, a profiled pass, a proof."""


class Durations:
    """Seconds that cells will take: what they took here before, or a guess from their FLOPs.

    Args:
        places: of this machine's run records; where a cell has several, the last one counts.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        self._known: dict[str, float] = {}
        for place in places:
            record = records.read_place(place)
            if isinstance(record, records.Problem):
                continue  # export names broken records; a guess will do here
            done = [w.wall_s for w in record.workers if w.ok and w.wall_s and w.forked is not None]
            if done:
                self._known[f"{place.suite}/{place.cell}"] = done[-1]

    def cell_s(self, planned: plan.Planned, cell: plan.PlannedCell) -> float:
        """Seconds of one worker of `cell`."""
        if cell.why_not is not None:
            return 0.5
        known = self._known.get(f"{planned.name}/{cell.name}")
        return guess_s(cell.experiment) if known is None else known

    def suites_s(self, suites: Iterable[plan.Planned]) -> dict[str, float]:
        """Seconds of a pass over each suite's cells, by key: what repeats is not measured again."""
        measured: set[tuple[str, str | None]] = set()
        seconds = {}
        for planned in plan.in_order(suites):
            seconds[planned.key] = SUITE_S
            for cell in planned.cells:
                what = cell.experiment.identity, cell.reference
                repeats = what in measured and not planned.suite.measures_again
                seconds[planned.key] += TAKE_OVER_S if repeats else self.cell_s(planned, cell)
                if cell.why_not is None:
                    measured.add(what)
        return seconds

    @property
    def is_guess(self) -> bool:
        """Whether this machine has run nothing yet."""
        return not self._known


def guess_s(experiment: Experiment) -> float:
    """Seconds that one worker of `experiment` may take, knowing nothing of this machine."""
    placed = placement.place(experiment)
    runtime, training, budget = experiment.runtime, experiment.training, experiment.budget
    micro = flops.flops_per_step(experiment).total / ASSUMED_FLOPS / training.grad_accum
    micro *= SLOWER.get(training.precision, 1.0) * SLOWER.get(experiment.model.architecture, 1.0)
    micro *= SLOWER.get(runtime.cc_level, 1.0)
    micro /= min(placed.threads, len(placed.cpus))
    step = micro * (budget.micro_batches or training.grad_accum)
    engine = specs.of(runtime.engine)
    start = engine.start_s + engine.compile_s.get(runtime.compile or "", 0.0)
    if engine.forks and runtime.compile == "eager":
        start = FORKED_S  # most settings leave it so
    if runtime.jit_state != "steady":  # a warm start needs a cold one before it
        return start * (2 if runtime.jit_state == "warm" else 1) + STEPS_AFTER_FIRST * step
    warm_up = min(budget.warm_up_steps * step, max(budget.warm_up_s, 2 * step))
    block = (blocks.steps(experiment, step) + blocks.discarded(step)) * step
    pairs = budget.samples * (block + REFERENCE_BLOCK_S)
    return start + step + warm_up + pairs + LOOKS * micro
