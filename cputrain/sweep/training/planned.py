"""What a run is to be, and the step that it goes on from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cputrain import atomic
from cputrain.data import tokenizer_file
from cputrain.errors import UsageError
from cputrain.experiment import PART_OF, Experiment
from cputrain.record.plan import TrainingPlan
from cputrain.record.trained import FILE, TrainRecord
from cputrain.sweep.training.folders import others
from cputrain.sweep.training.source import MODEL
from cputrain.wording import counted
from cputrain.worker.training import checkpoints

MAY_DIFFER = ("processes",)
"""Fields that a run may go on with another value of."""
ANOTHER = "--out NAME starts another run"
BROKEN = f"the run cannot go on without it: {ANOTHER}"
"""What a record is needed for that cannot be read."""


@dataclass(frozen=True)
class PlannedRun:
    """One run.

    Attributes:
        name: of its folder.
        experiment: settled, all of its data in memory and all micro-batches run.
        plan: without what is known only here: what is gone on from, and the peak.
        goes_on: whether it is to go on with what is there.
        at: the step to go on from; None is the latest.
        tokenizer: text of its file, of the model that is fine-tuned.
    """

    name: str
    experiment: Experiment
    plan: TrainingPlan
    goes_on: bool
    at: int | None
    tokenizer: str | None = None

    @property
    def has_own_tokens(self) -> bool:
        """Whether its tokens are not those that suites make of the corpus."""
        return bool(self.plan.files) or self.plan.start is not None

    def lay(self, folder: Path, step: int | None) -> None:
        """Put the tokenizer into the folder of a run that begins: see `resumed_step`."""
        if self.tokenizer is not None and step is None:
            atomic.write_text(folder / tokenizer_file.FILE, self.tokenizer)


def resumed_step(run: PlannedRun, folder: Path, known: TrainRecord | None) -> int | None:
    """The step that a run goes on from; None where it begins.

    Args:
        run: as it is planned.
        folder: where it lies.
        known: the record in that folder; None where there is none.

    Raises:
        UsageError: there is a run and it is not to go on, none that could go on, another one,
            no step left, or checkpoints that are damaged or gone.
    """
    saved = checkpoints.steps(folder)
    if not saved and (left := _left(folder, known)) is not None:
        raise _gone(folder, left)
    if known is None:
        if saved or run.goes_on:
            raise unknown(folder, run.plan.verb)
        return None
    again = f"python3 bench.py {run.plan.verb} --resume {run.name}"
    if not run.goes_on:
        if saved:
            raise UsageError(
                f"{folder} has a run, saved at step {saved[-1]} of {known.plan.steps}: {again} "
                "goes on with it, --out NAME starts another"
            )
        return None
    _same(run, known)
    step = run.at if run.at is not None else checkpoints.pointed(folder, checkpoints.LATEST)
    if step is None and not saved:
        return None  # it was stopped before it had saved anything
    step = saved[-1] if step is None else step
    if step not in saved:
        raise UsageError(f"--at {step}: there is no such checkpoint; there are {_listed(saved)}")
    try:
        checkpoint = checkpoints.read(folder, step, checkpoints.identity(run.experiment))
    except checkpoints.CheckpointError as error:
        whole = [other for other in saved if other != step and _is_whole(folder, other, run)]
        raise UsageError(f"{error}; {_instead(step, whole, again)}") from error
    if run.plan.steps < step or (run.plan.steps == step and not _is_to_finish(run, known)):
        raise UsageError(
            f"--steps {run.plan.steps}: step {step} is done already; "
            f"{again} --steps N with a larger N goes on from there"
        )
    waited = checkpoint.waited
    is_over = run.plan.patience is not None and waited >= run.plan.patience
    if is_over and not _is_to_finish(run, known):
        raise UsageError(
            f"step {step} is {counted(waited, 'evaluation')} after the lowest validation "
            f"loss, where --patience {run.plan.patience} ends the run: --patience "
            f"{waited + 1} or more goes on, --patience 0 without"
        )
    return step


def unknown(folder: Path, verb: str) -> UsageError:
    """Why a run without a record does not go on."""
    saved = checkpoints.steps(folder)
    if saved:
        return UsageError(
            f"{folder} has checkpoints, the last of step {saved[-1]}, but no {FILE}, so it cannot "
            f"go on: {ANOTHER}"
        )
    if (left := _left(folder, None)) is not None:
        return _gone(folder, left)
    instead = others(folder, verb=verb)
    return UsageError(f"no run {folder.name!r} to go on with in {folder.parent}; {instead}")


def _gone(folder: Path, left: str) -> UsageError:
    return UsageError(f"{folder} has {left}, and no checkpoint to go on from: {ANOTHER}")


def _instead(step: int, whole: list[int], again: str) -> str:
    """What to do where a step's checkpoint is not whole and these are: the one before, or after."""
    before = [other for other in whole if other < step]
    if not whole:
        return f"none is left: {ANOTHER}"
    if before:
        return f"{again} --at {before[-1]} goes on from the one before"
    return f"{again} --at {whole[0]} goes on from the one after"


def _left(folder: Path, known: TrainRecord | None) -> str | None:
    """What a run without checkpoints has left that starting it again would write over.

    None where it is one that had saved nothing yet.
    """
    if known is not None:
        ended = 0 if known.ended is None else known.ended.step
        step = max([ended, *(stretch.done for stretch in known.stretches)])
        if step:
            return f"a run that came to step {step}"
    return f"a {MODEL}" if (folder / MODEL).exists() else None


def _is_to_finish(run: PlannedRun, known: TrainRecord) -> bool:
    """Whether a run that is at its end has still to write its model: no end is on record.

    Not where the run on record was to end later: that would be another run.
    """
    is_done = known.ended is not None and known.ended.is_done
    ends = [(plan.steps, plan.patience) for plan in (run.plan, known.plan)]
    return not is_done and ends[0] == ends[1]


def _is_whole(folder: Path, step: int, run: PlannedRun) -> bool:
    try:
        checkpoints.read(folder, step, checkpoints.identity(run.experiment))
    except checkpoints.CheckpointError:
        return False
    return True


def _listed(steps: list[int]) -> str:
    return ", ".join(map(str, steps)) or "none"


def _same(run: PlannedRun, known: TrainRecord) -> None:
    """Raise UsageError, naming the field, where the run on record trains something else."""
    recorded = Experiment.from_json(known.worker.experiment).flat()
    for name, value in run.experiment.flat().items():
        if value != recorded[name] and PART_OF[name] != "budget" and name not in MAY_DIFFER:
            raise UsageError(
                f"run {known.name!r} has {name} = {recorded[name]}, asked is {value}: --out NAME "
                "starts another run"
            )
    if run.plan.clip != known.plan.clip or run.plan.files != known.plan.files:
        flag = "--clip" if run.plan.clip != known.plan.clip else "--data"
        raise UsageError(f"{flag} is another one than in run {known.name!r}: --out NAME starts one")
    start, recorded_start = run.plan.start, known.plan.start
    if (start and start.sha256) != (recorded_start and recorded_start.sha256):
        raise UsageError(
            f"--from is another model than that of run {known.name!r}: --out NAME starts another"
        )
