"""Whether two experiments train the same: the same model, on the same tokens, by the same update.

What differs then is which code does the work, on what, and how exactly it rounds. Standard library
only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FREE_PARTS = ("runtime", "system", "budget")
"""Parts of an experiment that say nothing of what is trained."""
FREE = ("precision", "activation_checkpointing", "loader", "loader_workers", "loader_queue")
"""Fields of its training that are about how it is computed. A precision rounds in its own way."""
BATCH = ("batch_size", "grad_accum")
"""What makes up the batch of one update: only their product says what is trained."""

Parts = Mapping[str, Mapping[str, Any]]


def is_unchanged(experiment: Parts, reference: Parts) -> bool:
    """Whether both train the same.

    Args:
        experiment, reference: as records have them, parts of fields.
    """
    fields = differing(experiment, reference)
    trained = {
        name
        for part, names in fields.items()
        for name in names
        if part not in FREE_PARTS and name not in (*FREE, *BATCH)
    }
    return not trained and _batch(experiment) == _batch(reference)


def differing(experiment: Parts, reference: Parts) -> dict[str, dict[str, Any]]:
    """The fields that differ, part by part, as `experiment` has them."""
    return {
        part: {
            name: fields.get(name)
            for name in {**fields, **reference.get(part, {})}
            if fields.get(name) != reference.get(part, {}).get(name)
        }
        for part, fields in experiment.items()
        if fields != reference.get(part)
    }


def _batch(experiment: Parts) -> int:
    training = experiment.get("training", {})
    return int(training.get("batch_size", 1)) * int(training.get("grad_accum", 1))
