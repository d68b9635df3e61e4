"""Lines of what a fault of an earlier harness makes of a claim: measured with it, or reckoned."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from cputrain.analysis.cell_effect import ONE_PAIR
from cputrain.analysis.claims.claim import ClaimFirstStep, ClaimPair, Demonstration
from cputrain.analysis.claims.evidence import CannotTell, ClaimEvidence, PairResult
from cputrain.analysis.claims.exponent import Exponent, slope_weights
from cputrain.analysis.claims.quantities import Time
from cputrain.analysis.claims.rules import Rule
from cputrain.analysis.claims.shown import Line
from cputrain.analysis.paired.effect import effect
from cputrain.analysis.paired.model import Pass
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.analysis.paired.verdict import off_by, widened
from cputrain.record.altered import Altered, Side
from cputrain.record.worker import WorkerRecord

DISTURBED = "others had the CPUs during each of its rounds"


def passed(own: Side, reference: Side) -> Pass | None:
    """The pairs of two sides, blocks of one round; None where each of them was disturbed."""
    blocks = zip(own.blocks, reference.blocks, own.disturbed, reference.disturbed, strict=True)
    ratios = tuple(
        math.log(statistics.median(a) / statistics.median(b))
        for a, b, *disturbed in blocks
        if not any(disturbed)
    )
    return Pass(ratios) if ratios else None


def measured(own: Side, reference: Side, noise: EngineNoise | None) -> PairResult:
    """Time of one side over the other's, from a single pass of their rounds.

    Args:
        noise: of their engine; None gives no interval.
    """
    pass_ = passed(own, reference)
    if pass_ is None:
        return PairResult(None, DISTURBED)
    made = effect([pass_], noise)
    doubts = (ONE_PAIR,) if made.is_of_one_pair else ()
    return PairResult(widened(made, noise, off_by(made)), doubts=doubts)


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
        result = measured(side, record.reference, noise)
        if result.effect is None:
            yield Line(name, "x", note=result.reason)
            continue
        its = result.effect
        yield Line(name, "x", its.value, its.low, its.high, _note(side, result.doubts))


def _note(side: Side, doubts: tuple[str, ...]) -> str:
    refused = [f"{what}: {why}" for what, why in side.said.items()]
    losses = side.losses
    fell = ""
    if losses is not None:
        fell = f"the loss of the first batch went from {losses.first:.2f} to {losses.last:.2f}"
    verdict = "our checks refuse it: " + "; ".join(refused) if refused else "our checks accept it"
    return "; ".join(filter(None, (verdict, fell, *doubts)))


def first_steps(what: ClaimFirstStep, rule: Rule, evidence: ClaimEvidence) -> Iterable[Line]:
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
    is_slope = any(isinstance(q, Exponent) for q in rule.quantities()) and any(sizes)
    if is_slope and len(sizes) == len(what.pairs):
        weights = slope_weights(sizes)
        slope = sum(w * math.log(r) for w, r in zip(weights, ratios, strict=True))
        label = f"k with the first step in a mean of {what.steps}"
        yield Line(label, "", slope, note="reckoned from the records' first steps")


def _ratio_of_means(pair: ClaimPair, steps: int, evidence: ClaimEvidence) -> float:
    """Of the worker's mean over the reference's."""
    cold = [worker for worker in evidence.workers(pair.name) if not worker.code_was_cached]
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


def _reference(pair: ClaimPair, worker: WorkerRecord, evidence: ClaimEvidence) -> WorkerRecord:
    references = evidence.references.get(pair.again, ())
    for reference in references:
        if reference.id == worker.reference:
            return reference
    raise CannotTell(f"{pair.name}: the record of its reference is not there")
