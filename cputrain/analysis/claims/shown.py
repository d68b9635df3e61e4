"""Lines of evidence: what was measured for a claim."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from cputrain.analysis.claims.claim import Claim
from cputrain.analysis.claims.evidence import (
    CannotTell,
    ClaimEvidence,
    MeasuredQuantity,
    PairResult,
)
from cputrain.analysis.claims.quantities import Time
from cputrain.analysis.claims.rules import Decision, Quantity


@dataclass(frozen=True)
class Line:
    """One quantity.

    Attributes:
        label: what it is.
        unit: "x" (a ratio), "share", "s" or "" (a plain number).
        value, low, high: None where unknown.
        note: why it is unknown, or what else there is to say.
    """

    label: str
    unit: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def text(self) -> str:
        """ "time of relu over baseline 0.97x [0.94, 1.01]"."""
        if self.value is None:
            return f"{self.label}: {self.note}"
        return f"{self.label}: {self.amount}"

    @property
    def amount(self) -> str:
        """ "0.97x [0.94, 1.01]"; nothing where it is unknown."""
        if self.value is None:
            return ""
        ends = ""
        if self.low is not None and self.high is not None:
            ends = f" [{_number(self.low, self.unit)}, {_number(self.high, self.unit)}]"
        sign = {"x": "x", "share": " %", "s": " s"}.get(self.unit, "")
        return f"{_number(self.value, self.unit)}{sign}{ends}"


def _number(value: float, unit: str) -> str:
    value = 100 * value if unit == "share" else value
    digits = 3 if 0.9 < value < 1.1 else max(0, 2 - math.floor(math.log10(abs(value) or 1.0)))
    return f"{value:.{min(digits, 3)}f}"


def of_decision(decision: Decision) -> Line:
    """The quantity that decided. It has to have one."""
    assert decision.quantity is not None and decision.measured is not None
    return _line(decision.quantity, decision.measured)


def lines(claim: Claim, evidence: ClaimEvidence) -> Iterable[Line]:
    """The quantities of a claim's rule, then the pairs that none of them is the time of."""
    for quantity in claim.rule.quantities():
        try:
            yield _line(quantity, quantity.of(evidence))
        except CannotTell as why:
            yield Line(quantity.label, quantity.unit, note=str(why))
    named = {
        name for quantity in claim.rule.quantities() for name in quantity.pairs
        if quantity.unit == "x" and len(quantity.pairs) == 1
    }  # fmt: skip
    for pair in claim.pairs:
        if pair.name not in named:
            result = evidence.pairs.get(pair.name, PairResult())
            label = Time(pair).label
            if result.effect is None:
                yield Line(label, "x", note=result.reason)
            else:
                yield _line(Time(pair), Time(pair).of(evidence))


def notes(claim: Claim, evidence: ClaimEvidence) -> Iterable[str]:
    """What is to be known of a claim's pairs: doubts of them, reckoned steps, memory."""
    yield from evidence.doubts(pair.name for pair in claim.pairs)
    if (altered := claim.demonstration) is not None and not altered.is_fault:
        yield from evidence.doubts([altered.name])
    for pair in claim.pairs:
        for worker in evidence.pairs.get(pair.name, PairResult()).workers[-1:]:
            if worker.composed is not None:
                yield f"{pair.change}: a step is reckoned, {worker.composed}"
            if (
                pair.experiment.training.activation_checkpointing
                != (pair.reference.training.activation_checkpointing)
                and worker.reference_counts is not None
            ):
                own = worker.work.memory_estimate_bytes / 2**30
                other = worker.reference_counts.memory_estimate_bytes / 2**30
                yield f"estimated memory: {other:.2f} GiB with checkpointing, {own:.2f} without"


def _line(quantity: Quantity, measured: MeasuredQuantity) -> Line:
    return Line(quantity.label, quantity.unit, measured.value, measured.low, measured.high)
