"""Trained models on disk: safetensors with the experiment in their metadata."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from cputrain.experiment import Experiment
from cputrain.record.work import SavedStart

if TYPE_CHECKING:
    import numpy as np

    Weights = dict[str, np.ndarray]

MODEL = "model.safetensors"


class SavedModelError(RuntimeError):
    """A saved model that cannot be used: one line says which and why."""


def save(
    folder: Path, experiment: Experiment, weights: Weights, cap_bytes: int
) -> tuple[str | None, str | None]:
    """Write the weights beside the run record; the file's name, and a note for people.

    A model of more than `cap_bytes` is not written: no name, and the note says so.
    """
    from safetensors.numpy import save as to_bytes

    from cputrain.atomic import write_bytes

    size = sum(array.nbytes for array in weights.values())
    if size > cap_bytes:
        note = f"model of {size / 1e6:.0f} MB not saved: over the cap of {cap_bytes / 1e6:.0f} MB"
        return None, note
    metadata = {"experiment": json.dumps(experiment.to_json())}
    write_bytes(folder / MODEL, to_bytes(weights, metadata=metadata))
    return MODEL, None


def named(start: Path | None) -> SavedStart | None:
    """Which saved model training goes on from: its file and SHA-256, for the record."""
    if start is None:
        return None
    return SavedStart(file=str(start), sha256=hashlib.sha256(start.read_bytes()).hexdigest())


def starting_weights(experiment: Experiment, start: Path | None) -> Weights:
    """The initial weights; with a saved model `start`, its tensors in their place.

    What the saved model lacks keeps its initial value: low-rank additions, which add nothing
    at first. A head of its own starts as the saved model's tied one, its token embedding.

    Raises:
        SavedModelError: the file is missing or damaged, or its tensors do not fit.
    """
    from cputrain.model.initial import initial_weights

    weights = initial_weights(experiment)
    if start is None:
        return weights
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        saved = load_file(start)
    except (OSError, SafetensorError) as error:
        raise SavedModelError(f"{start} cannot be read: {error}; train it again") from error
    if "head.weight" in weights and "head.weight" not in saved and "wte" in saved:
        saved["head.weight"] = saved["wte"].copy()
    for name, array in saved.items():
        if name not in weights or weights[name].shape != array.shape:
            raise SavedModelError(f"{start} does not fit: {name} {list(array.shape)}")
        weights[name] = array
    missing = [n for n in weights if n not in saved and ".lora_" not in n]
    if missing:
        raise SavedModelError(f"{start} does not fit: it has no {missing[0]}")
    return weights
