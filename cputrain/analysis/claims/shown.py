"""Lines of evidence: what was measured for a claim, and what a fault makes of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from cputrain.analysis.claims.claim import Claim, Demonstration, FirstStep, Pair
from cputrain.analysis.claims.evidence import (
    CannotTell,
    Evidence,
    Found,
    Measured,
    of_one_worker,
)
from cputrain.analysis.claims.exponent import Exponent, slope_weights
from cputrain.analysis.claims.quantities import Time
from cputrain.analysis.claims.rules import Decision, Quantity, Rule
from cputrain.analysis.paired.effect import effect
from cputrain.analysis.paired.model import Pass
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.record.altered import Altered, Side
from cputrain.record.worker import WorkerRecord

DISTURBED = "others had the CPUs during each of its rounds"


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


def lines(claim: Claim, evidence: Evidence) -> Iterable[Line]:
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
            found = evidence.pairs.get(pair.name, Found())
            label = Time(pair).label
            if found.effect is None:
                yield Line(label, "x", note=found.reason)
            else:
                yield _line(Time(pair), Time(pair).of(evidence))


def notes(claim: Claim, evidence: Evidence) -> Iterable[str]:
    """What the workers of a claim's pairs say of themselves: reckoned steps, memory."""
    for pair in claim.pairs:
        for worker in evidence.pairs.get(pair.name, Found()).workers[-1:]:
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


def passed(own: Side, reference: Side) -> Pass | None:
    """The pairs of two sides, blocks of one round; None where each of them was disturbed."""
    blocks = zip(own.blocks, reference.blocks, own.disturbed, reference.disturbed, strict=True)
    ratios = tuple(
        math.log(statistics.median(a) / statistics.median(b))
        for a, b, *disturbed in blocks
        if not any(disturbed)
    )
    return Pass(ratios) if ratios else None


def demonstration(
    what: Demonstration, record: Altered | None, noise: EngineNoise | None
) -> Iterable[Line]:
    """A pair with a fault and without it; then what the checks say of the faulty side."""
    label = f"time over the reference's, with the fault: {what.says}"
    if record is None or record.status != "ok" or record.plain is None:
        why = "it was not run yet" if record is None else f"{record.status}: {record.reason}"
        yield Line(label, "x", note=why)
        return
    for name, side in ((label, record.altered), ("without it", record.plain)):
        if (pass_ := passed(side, record.reference)) is None:
            yield Line(name, "x", note=DISTURBED)
            continue
        made = of_one_worker(effect([pass_], noise), noise)
        yield Line(name, "x", made.value, made.low, made.high, _said(side))


def _said(side: Side) -> str:
    refused = [f"{what}: {why}" for what, why in side.said.items()]
    losses = side.losses
    fell = ""
    if losses is not None:
        fell = f"the loss of the first batch went from {losses.first:.2f} to {losses.last:.2f}"
    verdict = "our checks refuse it: " + "; ".join(refused) if refused else "our checks accept it"
    return "; ".join(filter(None, (verdict, fell)))


def first_steps(what: FirstStep, rule: Rule, evidence: Evidence) -> Iterable[Line]:
    """Ratios of mean steps with the first one in the mean, reckoned from the records."""
    ratios: list[float] = []
    sizes: list[float] = []
    for pair in what.pairs:
        label = f"{Time(pair).label}, the first step in a mean of {what.steps}"
        try:
            ratio = _ratio_of_means(pair, what.steps, evidence)
        except CannotTell as why:
            yield Line(label, "x", note=str(why))
            continue
        ratios.append(ratio)
        (worker,) = evidence.workers(pair.name)[-1:]
        if worker.reference_counts is not None:
            sizes.append(math.log(worker.work.n_params / worker.reference_counts.n_params))
        if len(what.pairs) == 1:
            yield Line(label, "x", ratio, note="reckoned from the records' first steps")
    if any(isinstance(q, Exponent) for q in rule.quantities()) and len(sizes) == len(what.pairs):
        weights = slope_weights(sizes)
        slope = sum(w * math.log(r) for w, r in zip(weights, ratios, strict=True))
        label = f"k with the first step in a mean of {what.steps}"
        yield Line(label, "", slope, note="reckoned from the records' first steps")


def _ratio_of_means(pair: Pair, steps: int, evidence: Evidence) -> float:
    """Of the worker's mean over the reference's."""
    cold = [worker for worker in evidence.workers(pair.name) if not worker.found_code]
    if not cold:
        raise CannotTell(f"{pair.name}: no first step that compiled")
    worker = cold[0]
    own = [step for sample in worker.samples for step in sample.step_s]
    other = [step for beside in worker.pairs for step in beside.reference.step_s]
    firsts = worker, _reference(pair, worker, evidence)
    means = []
    for record, rest in zip(firsts, (own, other), strict=True):
        first = record.phases.get("first_step_s")
        if first is None or not rest:
            raise CannotTell(f"{pair.name}: a record has no first step")
        means.append((first + (steps - 1) * statistics.median(rest)) / steps)
    return means[0] / means[1]


def _reference(pair: Pair, worker: WorkerRecord, evidence: Evidence) -> WorkerRecord:
    references = evidence.references.get(pair.again, ())
    for reference in references:
        if reference.id == worker.reference:
            return reference
    raise CannotTell(f"{pair.name}: the record of its reference is not there")


def _line(quantity: Quantity, measured: Measured) -> Line:
    return Line(quantity.label, quantity.unit, measured.value, measured.low, measured.high)
