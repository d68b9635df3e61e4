"""Whether two sides did the same work: the settings, and the losses step by step."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cputrain.record.releases import TakenPair
from cputrain.record.sample import Sample

PARTS = ("model", "training")
"""What of an experiment says what is computed; the others say how."""
FIRST = 1e-3
"""How far the loss before any step may lie apart, as a share, in full precision: rounding."""
FIRST_ROUNDED = 2e-2
"""The same of types that keep 8 bits or fewer of a number."""
LATER = 2e-2
"""The same of later steps, in the median: small differences grow as the model trains."""


@dataclass(frozen=True)
class Agreement:
    """How the losses of two sides agree.

    Attributes:
        words: for people.
        why_no_ratio: why times are not compared; None where both did the same work.
    """

    words: str
    why_no_ratio: str | None = None


def agreement(pairs: Sequence[TakenPair]) -> Agreement:
    """Of all pairs of workers of one cell; each has both workers."""
    first: list[float] = []
    later: list[float] = []
    for pair in pairs:
        reference, worker = pair.reference, pair.worker
        assert reference is not None and worker is not None
        if (difference := _difference(reference.experiment, worker.experiment)) is not None:
            return Agreement("", f"not the same work: {difference}")
        if reference.data is not None and worker.data is not None:
            prints = reference.data.fingerprint, worker.data.fingerprint
            if prints[0] != prints[1]:
                return Agreement("", f"not the same data: {prints[0][:8]} and {prints[1][:8]}")
        if reference.first_loss is not None and worker.first_loss is not None:
            first.append(_apart(reference.first_loss, worker.first_loss))
        later += _by_step(pair)
    return _judged(first, later, str(pairs[0].key.name), _tolerance(pairs[0]))


def _judged(first: Sequence[float], later: Sequence[float], cell: str, most: float) -> Agreement:
    if not first:
        return Agreement("", f"{cell}: no loss before the first step is known")
    middle = statistics.median(later) if later else None
    words = f"before any step {max(first):.1e} apart"
    if middle is not None:
        words += f", over {len(later)} common steps {middle:.1e}"
    if max(first) > most:
        return Agreement(words, f"the losses do not agree: {words}")
    if middle is not None and middle > max(LATER, most):
        return Agreement(words, f"the losses do not agree: {words}")
    return Agreement(words)


def _tolerance(pair: TakenPair) -> float:
    assert pair.worker is not None
    training = pair.worker.experiment["training"]
    return FIRST if training.get("precision") == "fp32" else FIRST_ROUNDED


def _difference(reference: dict[str, Any], experiment: dict[str, Any]) -> str | None:
    """The first field of what is computed that differs; fields that one side lacks do not count."""
    for part in PARTS:
        before, after = reference.get(part, {}), experiment.get(part, {})
        for name in before:
            if name in after and before[name] != after[name]:
                return f"{name} is {before[name]} and {after[name]}"
    return None


def _apart(loss: float, other: float) -> float:
    """The difference as a share of the larger loss."""
    largest = max(abs(loss), abs(other))
    return abs(loss - other) / largest if largest else 0.0


def _by_step(pair: TakenPair) -> list[float]:
    """How far losses lie apart at the steps that both have timed."""
    assert pair.worker is not None
    own: dict[int, float] = {}
    beside: dict[int, float] = {}
    for block, (reference_done, worker_done) in zip(
        pair.worker.pairs, pair.steps_done, strict=False
    ):
        own |= _losses(pair.worker.samples[block.sample], worker_done)
        beside |= _losses(block.reference, reference_done)
    return [_apart(own[step], beside[step]) for step in own.keys() & beside.keys()]


def _losses(sample: Sample, steps_done: int) -> dict[int, float]:
    """Losses by the number of the step; nothing of a sample that was taken again."""
    if sample.tries > 1:
        return {}
    first = steps_done - len(sample.loss)
    return {first + number: loss for number, loss in enumerate(sample.loss, start=1)}
