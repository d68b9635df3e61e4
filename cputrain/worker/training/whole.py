"""The model that a run ends with: always a whole one, whatever of it was trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cputrain import atomic
from cputrain.data import tokenizer_file
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.model import lora
from cputrain.worker import saved

if TYPE_CHECKING:
    import numpy as np

    Arrays = dict[str, np.ndarray]

NO_LIMIT = 2**62
ADAPTERS = "adapters.safetensors"
"""The low-rank additions alone."""


def save(folder: Path, experiment: Experiment, weights: Arrays) -> dict[str, str]:
    """Write the model into a run's folder; what `record.train.Ended` says of it.

    Its experiment says what it is, not how it came about: low-rank additions are merged into the
    weights (and kept beside them, too), and the next run can start from it like from any other.

    Args:
        folder: has the tokenizer, unless there is no text.
        experiment: of the run.
        weights: by the names of `model.shapes`.

    Raises:
        OSError: it cannot be written.
    """
    if added := lora.additions(weights):
        from safetensors.numpy import save as to_bytes

        metadata = {"alpha": str(lora.ALPHA)}
        atomic.write_bytes(folder / ADAPTERS, to_bytes(added, metadata=metadata))
        weights = lora.merged(weights)
    name, _ = saved.save(folder, experiment.but(fine_tuning="scratch"), weights, NO_LIMIT)
    assert name is not None
    path = folder / tokenizer_file.FILE
    if not path.exists():
        return {"model_file": name}
    digest = tokenizer_file.digest(path.read_text(encoding="utf-8"))
    return {"model_file": name, "tokenizer": digest}


def load(path: Path) -> tuple[Experiment, Arrays]:
    """What a model's file says that it is, and its weights, with additions merged into them.

    Raises:
        UsageError: it is no model of a run.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            experiment = Experiment.from_json(json.loads(file.metadata()["experiment"]))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, ExperimentError) as error:
        raise UsageError(f"{path}: no model of a run: {error}") from error
    return experiment.but(fine_tuning="scratch"), lora.merged(weights)
