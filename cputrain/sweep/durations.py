"""How long suites will take: what they took here before, or a guess."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cputrain.analysis.pass_seconds import pass_s
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.machine import cpu, reading
from cputrain.model import flops
from cputrain.record.worker import WorkerRecord
from cputrain.results import records
from cputrain.results.stored import RecordPlace
from cputrain.run import placement
from cputrain.sweep import plan
from cputrain.worker import blocks, timing

SUITE_S = 1.5
"""Of a suite beside its cells: references, a share of an asv call's start."""
TAKE_OVER_S = 0.3
"""Of a cell whose measurement is there already, or that cannot run here: asv's process alone."""
ASSUMED_FLOPS = 60e9
"""Rate of one core."""
ASSUMED_WIDE_FLOPS = 100e9
"""The same, of a core with AVX-512."""
WARM_UP_STEPS, LONG_WARM_UP_STEPS = 8, 3
"""That short and long steps take until they are steady."""
SLOWER = {
    "bf16": 19.0, "mixed": 19.0, "q8": 10.0, "q8_torchao": 10.0, "q4": 1.2, "bitnet": 1.2,
    "bitnet_torchao": 5.5, "lstm": 3.0, "ssm": 3.0, "O0": 15.0,
}  # fmt: skip
"""Step time over fp32's and gpt's at as many FLOPs, on a CPU without bf16 or int8 products; O0 is
the native engine's level."""
BF16 = ("avx512_bf16", "amx_bf16")
"""Instructions of a CPU that multiplies bf16 no slower than fp32."""
STEPS_AFTER_FIRST = 20
"""Steps that follow a timed first one."""
FORKED_S = 1.0
"""Until the first step, of a worker whose engine is imported already."""
LOOKS = 3
"""Micro-batches outside the clock: the loss before and after, a profiled pass."""


class Durations:
    """Seconds that cells will take: what they took here before, or a guess from their FLOPs.

    Args:
        places: of this machine's run records; where a cell has several, the last one counts.
        kept: suite and name of the cells that the first pass has measured before it was stopped.
    """

    def __init__(self, places: Iterable[RecordPlace], kept: Iterable[tuple[str, str]] = ()) -> None:
        self._kept = frozenset(kept)
        self._known: dict[str, WorkerRecord] = {}
        for place in places:
            record = records.read_place(place)
            if isinstance(record, records.Problem):
                continue  # export names broken records; a guess will do here
            done = [w for w in record.workers if w.ok and w.wall_s and w.forked is not None]
            if done:
                self._known[f"{place.suite}/{place.cell}"] = done[-1]

    def cell_s(
        self,
        planned: plan.Planned,
        cell: plan.PlannedCell,
        finds_code: bool = False,
        pairs: int | None = None,
    ) -> float:
        """Seconds of one worker of `cell`.

        Args:
            planned: its suite.
            cell: of it.
            finds_code: see `guess_s`.
            pairs: of blocks; where left out, as many as a first pass takes.
        """
        of_first_pass = pairs is None
        if cell.why_not is not None or (of_first_pass and (planned.name, cell.name) in self._kept):
            return TAKE_OVER_S
        known = self._known.get(f"{planned.name}/{cell.name}")
        if known is not None:
            return pass_s(known, pairs)
        experiment = cell.experiment if pairs is None else cell.experiment.but(samples=pairs)
        reference = planned.suite().reference(*cell.values)
        return guess_s(experiment, reference, fewer=pairs is None, finds_code=finds_code)

    def suites_s(self, suites: Iterable[plan.Planned]) -> dict[str, float]:
        """Seconds of a pass over each suite's cells, by key: what repeats is not measured again."""
        measured: set[tuple[str, str | None]] = set()
        compiled: set[str] = set()
        seconds = {}
        for planned in plan.in_order(suites):
            seconds[planned.key] = SUITE_S
            for cell in planned.cells:
                measurement = cell.experiment.identity, cell.reference
                repeats = measurement in measured and not planned.suite.measures_again
                code = cell.experiment.but(jit_state="steady").identity
                cell_s = self.cell_s(planned, cell, finds_code=code in compiled)
                seconds[planned.key] += TAKE_OVER_S if repeats else cell_s
                if cell.why_not is None:
                    measured.add(measurement)
                    compiled.add(code)
        return seconds

    @property
    def is_guess(self) -> bool:
        """Whether this machine has run nothing yet."""
        return not self._known


def guess_s(
    experiment: Experiment,
    reference: Experiment | None = None,
    fewer: bool = False,
    finds_code: bool = False,
) -> float:
    """Seconds that one worker of `experiment` may take, knowing nothing of this machine.

    Args:
        experiment: settled.
        reference: what runs beside it, settled.
        fewer: whether long steps have fewer samples, as in a first pass of a sweep, where no
            reference means none; elsewhere it is taken to be like `experiment`.
        finds_code: whether a worker has compiled the same before, in this session.
    """
    runtime, training, budget = experiment.runtime, experiment.training, experiment.budget
    micro = _micro_s(experiment)
    step = micro * (budget.micro_batches or training.grad_accum)
    engine = specs.of(runtime.engine)
    start, compiling = engine.start_s, engine.compile_s.get(runtime.compile or "", 0.0)
    caches = runtime.compile == "inductor" or runtime.jit_state == "warm"
    start += 0.0 if finds_code and caches else compiling
    if engine.forks and runtime.compile == "eager":
        start = FORKED_S  # most settings leave it so
    if runtime.jit_state != "steady":  # a warm start needs a cold one before it
        again = runtime.jit_state == "warm" and not finds_code
        return start * (2 if again else 1) + STEPS_AFTER_FIRST * step
    first = step if step >= timing.HEAVY_S else 0.0  # one of the two that are compared
    is_long = step >= timing.LONG_S
    most = min(LONG_WARM_UP_STEPS if is_long else WARM_UP_STEPS, budget.warm_up_steps)
    warm_up = min(most * step, max(budget.warm_up_s, 2 * step - first))
    return start + step + warm_up + _blocks_s(experiment, step, reference, fewer) + LOOKS * micro


def _blocks_s(
    experiment: Experiment, step: float, reference: Experiment | None, fewer: bool
) -> float:
    """Seconds of all blocks."""
    own, samples = blocks.side(experiment, step), experiment.budget.samples
    if fewer and reference is None:
        return blocks.alone(samples, own) * own.block_s
    if reference is None:
        return 2 * samples * own.block_s
    accum = reference.budget.micro_batches or reference.training.grad_accum
    beside = blocks.side(reference, _micro_s(reference) * accum)
    samples = blocks.pairs(samples, own, beside) if fewer else samples
    return samples * (own.block_s + beside.block_s)


def _micro_s(experiment: Experiment) -> float:
    """Seconds of a micro-batch."""
    placed = placement.place(experiment)
    training = experiment.training
    rate = ASSUMED_WIDE_FLOPS if _has(reading.ROOT, "avx512f") else ASSUMED_FLOPS
    seconds = flops.flops_per_step(experiment).total / rate / training.grad_accum
    if training.precision not in ("bf16", "mixed") or not _has(reading.ROOT, *BF16):
        seconds *= SLOWER.get(training.precision, 1.0)
    seconds *= SLOWER.get(experiment.model.architecture, 1.0)
    seconds *= SLOWER.get(experiment.runtime.cc_level, 1.0)
    return seconds / min(placed.threads, len(placed.cpus))


def _has(root: Path, *names: str) -> bool:
    """Whether the CPU says that it has one of these instructions."""
    try:
        flags = cpu.info(root, "flags").split()
    except reading.Unknown:
        return False
    return any(name in flags for name in names)
