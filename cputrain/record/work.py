"""What was trained, and on what: counts of one step, and facts on the data."""

from __future__ import annotations

from cputrain.record.part import Count, Number, Part, Seconds, Size


class MemoryParts(Part, frozen=True, kw_only=True):
    """Bytes estimated before the run, by what they hold: see `model.memory_estimate`."""

    parameters: Count
    gradients: Count
    optimizer: Count
    activations: Count
    buffers: Count
    queue: Count
    framework: Count


class Counts(Part, frozen=True, kw_only=True):
    """Sizes of an experiment: see `model.counts`.

    Attributes:
        flops_per_step: as executed; flops_formula: by the usual full formula.
        flops_by_type: `flops_per_step` by the type of number that is multiplied.
    """

    n_params: Size
    n_trained: Count
    tokens_per_step: Size
    flops_per_step: Count
    flops_formula: Count
    flops_by_type: dict[str, Count]
    memory_estimate_bytes: Count
    memory: MemoryParts


class Data(Part, frozen=True, kw_only=True):
    """What is trained on: see `data.feed.Feed.facts`."""

    source: str
    fingerprint: str
    tokenizer: str
    note: str | None = None
    vocab: Count | None = None
    sequences: Count | None = None
    steps_per_epoch: Count | None = None
    counted_share: Number | None = None
    prepared_s: Seconds | None = None
    queue_bytes: Count | None = None


class SavedStart(Part, frozen=True, kw_only=True):
    """The saved model that training started from."""

    file: str
    sha256: str
