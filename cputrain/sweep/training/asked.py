"""What a run is to be, and where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cputrain import atomic, paths
from cputrain.data import tokenizer_file
from cputrain.errors import UsageError
from cputrain.experiment import PART_OF, Experiment
from cputrain.record import files
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import FILE, FOLDER, SCHEMA, TrainRecord
from cputrain.wording import counted
from cputrain.worker.training import checkpoints

MAY_DIFFER = ("processes",)
"""Fields that a run may go on with another value of."""


@dataclass(frozen=True)
class Asked:
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


def folder_of(machine: str, name: str) -> Path:
    """Where a run lies."""
    return paths.output_folder(machine, "full") / FOLDER / name


def record_of(folder: Path) -> TrainRecord | None:
    """The record in a run's folder; None where there is no run.

    Raises:
        UsageError: it cannot be read.
    """
    path = folder / FILE
    try:
        return files.read(path, TrainRecord, SCHEMA)
    except FileNotFoundError:
        return None
    except (OSError, files.RecordError) as error:
        raise UsageError(f"{path}: {error}; or take another name: --out NAME") from error


def resumed_step(asked: Asked, folder: Path, known: TrainRecord | None) -> int | None:
    """The step that a run goes on from; None where it begins.

    Raises:
        UsageError: there is a run and it is not to go on, none that could go on, another one,
            no step left, or a checkpoint that is damaged.
    """
    there = checkpoints.steps(folder)
    again = f"python3 bench.py {asked.plan.verb} --resume {asked.name}"
    if not asked.goes_on:
        if there:
            of = "" if known is None else f" of {known.plan.steps}"
            raise UsageError(
                f"{folder} has a run, saved at step {there[-1]}{of}: {again} goes on with it, "
                "--out NAME starts another"
            )
        return None
    if known is None:
        raise UsageError(f"no run {asked.name!r} to go on with in {folder.parent}")
    _same(asked, known)
    step = asked.at if asked.at is not None else checkpoints.pointed(folder, checkpoints.LATEST)
    if step is None and not there:
        return None  # it was stopped before it had saved anything
    step = there[-1] if step is None else step
    if step not in there:
        raise UsageError(f"--at {step}: there is no such checkpoint; there are {_listed(there)}")
    try:
        kept = checkpoints.read(folder, step, checkpoints.identity(asked.experiment))
    except checkpoints.CheckpointError as error:
        whole = [other for other in there if other < step and _is_whole(folder, other, asked)]
        then = f"{again} --at {whole[-1]} goes on from the one before" if whole else "none is left"
        raise UsageError(f"{error}; {then}") from error
    if asked.plan.steps <= step:
        raise UsageError(
            f"--steps {asked.plan.steps}: step {step} is done already; "
            f"{again} --steps N with a larger N goes on from there"
        )
    if asked.plan.patience is not None and kept.waited >= asked.plan.patience:
        raise UsageError(
            f"step {step} is {counted(kept.waited, 'evaluation')} after the lowest validation "
            f"loss, where --patience {asked.plan.patience} ends the run: --patience "
            f"{kept.waited + 1} or more goes on, --patience 0 without"
        )
    return step


def _is_whole(folder: Path, step: int, asked: Asked) -> bool:
    try:
        checkpoints.read(folder, step, checkpoints.identity(asked.experiment))
    except checkpoints.CheckpointError:
        return False
    return True


def _listed(steps: list[int]) -> str:
    return ", ".join(map(str, steps)) or "none"


def _same(asked: Asked, known: TrainRecord) -> None:
    """Raise UsageError, naming the field, where the run on record trains something else."""
    mine = asked.experiment.flat()
    its = Experiment.from_json(known.worker.experiment).flat()
    for name, value in mine.items():
        if value != its[name] and PART_OF[name] != "budget" and name not in MAY_DIFFER:
            raise UsageError(
                f"run {known.name!r} has {name} = {its[name]}, asked is {value}: --out NAME "
                "starts another run"
            )
    if asked.plan.clip != known.plan.clip or asked.plan.files != known.plan.files:
        what = "--clip" if asked.plan.clip != known.plan.clip else "--data"
        raise UsageError(f"{what} is another one than in run {known.name!r}: --out NAME starts one")
    start, its_start = asked.plan.start, known.plan.start
    if (start and start.sha256) != (its_start and its_start.sha256):
        raise UsageError(
            f"--from is another model than that of run {known.name!r}: --out NAME starts another"
        )
