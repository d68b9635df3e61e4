"""Checkpoints of a run on disk: tensors, and a small JSON that says that they are whole.

`step-300.safetensors` is written first and `step-300.json`, with its SHA-256, after it: what has no
JSON is no checkpoint. Which is the latest and which the best is said by `latest.json` and
`best.json`. Standard library and msgspec, but for reading and writing tensors.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from cputrain import atomic
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.part import Part
from cputrain.record.trained import SCHEMA, Checkpoint

if TYPE_CHECKING:
    import numpy as np

    Arrays = dict[str, np.ndarray]

FOLDER = "checkpoints"
LATEST, BEST = "latest.json", "best.json"
WEIGHTS, STATE = "weights/", "state/"
"""Prefixes of the tensors' names."""
RANKS = "ranks/"
"""Prefix, in the state, of what is another rank's than the first's, by its number."""
CHUNK = 1 << 22


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be gone on from: one line says which and why."""


class Pointer(Part, frozen=True, kw_only=True):
    """Which checkpoint."""

    step: int


def identity(experiment: Experiment) -> str:
    """Of what a checkpoint is: how many processes train it is no part of that."""
    return experiment.but(processes=None).identity


def _name(step: int) -> str:
    return f"step-{step}"


def steps(run: Path) -> list[int]:
    """The steps of a run's folder that have a checkpoint, ascending; whole or not."""
    names = (path.stem.removeprefix("step-") for path in (run / FOLDER).glob("step-*.json"))
    return sorted(int(name) for name in names if name.isdecimal())


def pointed(run: Path, which: str) -> int | None:
    """The step that `LATEST` or `BEST` says; None where it says none that is there."""
    try:
        step = files.decode((run / FOLDER / which).read_bytes(), Pointer, 1).step
    except (OSError, files.RecordError):
        return None
    return step if step in steps(run) else None


def read(run: Path, step: int, identity: str | None = None) -> Checkpoint:
    """A checkpoint whose tensors are whole, and of that experiment.

    Args:
        run: the run's folder.
        step: that it was written after.
        identity: of the experiment, by the function of this name; None takes any.

    Raises:
        CheckpointError: it is none, or another's.
    """
    path = run / FOLDER / f"{_name(step)}.json"
    try:
        checkpoint = files.read(path, Checkpoint, SCHEMA)
        tensors = path.parent / checkpoint.file
        size = tensors.stat().st_size
    except FileNotFoundError as error:
        raise CheckpointError(f"{error.filename}: not there") from error
    except (OSError, files.RecordError) as error:
        raise CheckpointError(f"{path}: {error}") from error
    if size != checkpoint.size:
        raise CheckpointError(f"{tensors}: {size} bytes of {checkpoint.size}: it is cut off")
    if identity is not None and checkpoint.identity != identity:
        raise CheckpointError(
            f"{path}: of another model or training ({checkpoint.identity}, this is {identity})"
        )
    digest = hashlib.sha256()
    with tensors.open("rb") as file:
        while data := file.read(CHUNK):
            digest.update(data)
    if digest.hexdigest() != checkpoint.sha256:
        raise CheckpointError(f"{tensors}: damaged: it does not match its SHA-256")
    return checkpoint


def tensors(run: Path, checkpoint: Checkpoint) -> tuple[Arrays, Arrays]:
    """Weights and state of a checkpoint that `read` gave. Raises OSError, SafetensorError."""
    from safetensors.numpy import load_file

    everything = load_file(run / FOLDER / checkpoint.file)
    parts: list[Arrays] = []
    for prefix in (WEIGHTS, STATE):
        named = {n: a for n, a in everything.items() if n.startswith(prefix)}
        parts.append({name.removeprefix(prefix): array for name, array in named.items()})
    return parts[0], parts[1]


def write(run: Path, checkpoint: Checkpoint, weights: Arrays, state: Arrays) -> Checkpoint:
    """Write a checkpoint and have `LATEST` say it; as it was written.

    Args:
        run: the run's folder.
        checkpoint: without file, sha256 and size.
        weights, state: the engine's arrays, by name.

    Raises:
        OSError: it cannot be written; earlier ones are as they were.
    """
    from safetensors.numpy import save

    folder, name = run / FOLDER, _name(checkpoint.step)
    named = {f"{WEIGHTS}{n}": a for n, a in weights.items()}
    data = save(named | {f"{STATE}{n}": a for n, a in state.items()})
    whole = Checkpoint(
        **{field: getattr(checkpoint, field) for field in checkpoint.__struct_fields__}
        | {
            "file": f"{name}.safetensors",
            "sha256": hashlib.sha256(data).hexdigest(),
            "size": len(data),
        }
    )
    atomic.write_bytes(folder / whole.file, data)
    files.write(folder / f"{name}.json", whole)
    files.write(folder / LATEST, Pointer(step=whole.step))
    if whole.best_step == whole.step:
        files.write(folder / BEST, Pointer(step=whole.step))
    return whole


def point_to_best(run: Path, best: int | None) -> None:
    """Have `BEST` say the best step, which a kill may have kept it from; none where it is gone.

    Raises:
        OSError: it cannot be written.
    """
    if best is None or best not in steps(run):
        (run / FOLDER / BEST).unlink(missing_ok=True)
    elif pointed(run, BEST) != best:
        files.write(run / FOLDER / BEST, Pointer(step=best))


def prune(run: Path, keep_every: int | None) -> None:
    """Delete all but the last two, the best and the multiples of `keep_every`.

    The best is what `BEST` says, and what the last checkpoint says: a kill or a full disk between
    two writes may have left `BEST` with the one before.

    Raises:
        OSError, RecordError: the last checkpoint cannot be read, or one cannot be deleted.
    """
    known, folder = steps(run), run / FOLDER
    last = files.read(folder / f"{_name(known[-1])}.json", Checkpoint, SCHEMA)
    kept = {*known[-2:], pointed(run, BEST), last.best_step}
    kept |= {step for step in known if keep_every and step % keep_every == 0}
    for step in known:
        if step not in kept:  # the JSON first: what has none is no checkpoint
            (folder / f"{_name(step)}.json").unlink()
            (folder / f"{_name(step)}.safetensors").unlink(missing_ok=True)


def forget_after(run: Path, step: int) -> None:
    """Delete what lies behind a step that is gone on from, and what a killed run left half done."""
    folder = run / FOLDER
    for later in steps(run):
        if later > step:
            (folder / f"{_name(later)}.json").unlink()
    whole = {f"{_name(known)}.safetensors" for known in steps(run)}
    for path in folder.glob("step-*.safetensors"):
        if path.name not in whole:
            path.unlink()
    for path in folder.glob(".*.tmp"):
        path.unlink()
