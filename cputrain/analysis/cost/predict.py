"""What a step of a configuration takes that never ran, from a machine's costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis.cost import memory, scope
from cputrain.analysis.cost.costs import Costs, DriftAt, EngineCosts
from cputrain.analysis.cost.terms import Rates, least_s, terms
from cputrain.engines import specs
from cputrain.errors import UsageError
from cputrain.experiment import Experiment
from cputrain.run import stacks

CALIBRATE = "python3 bench.py run --bench '^design' measures what it takes"
PROJECT = "python3 bench.py project measures it"
BEYOND = 0.08
"""Natural logarithm by which an interval grows each way for a doubling beyond the range."""

Span = tuple[float, float]


@dataclass(frozen=True)
class Prediction:
    """Of one optimizer step.

    Attributes:
        ratio: to a step of the engine's default experiment, whose seconds are reference_s.
        ratio_span: 90 % interval; None where too few cells tell it.
        seconds: of a step; at_peak_s: what its products take at the measured peak.
        by_term: seconds of each term.
        memory_bytes: at the peak; memory_span: 90 %; None where not known.
        machine_bytes: of memory that the machine has; 0 where not known.
        outside: what lies beyond the calibrated range, in words.
        doubts: what was measured, and is not predicted well where it is left out, in words.
        half: of the ratio's interval, of the natural logarithm; drift: as in `Costs`.
    """

    ratio: float
    ratio_span: Span | None
    reference_s: float
    seconds: float
    at_peak_s: float
    by_term: Mapping[str, float]
    memory_bytes: float | None
    memory_span: Span | None
    machine_bytes: int
    outside: list[str]
    doubts: list[str]
    half: float | None
    drift: Sequence[DriftAt]

    def span(self, steps: int) -> Span | None:
        """90 % interval of the mean seconds of so many steps: of the ratio, and of the drift.

        The machine's speed over a run is not that of its records: `analysis.drift`. Both are
        independent, so half widths of logarithms are added as squares. None where the ratio's
        or the drift is not known. No end is below what the products take at the peak.
        """
        if self.half is None or not self.drift:
            return None
        longer = [its for its in self.drift if its.while_s >= steps * self.seconds]
        drift = longer[0] if longer else self.drift[-1]
        half = math.hypot(self.half, math.log(drift.high / drift.low) / 2)
        low, high = _around(self.seconds * math.sqrt(drift.low * drift.high), half)
        return max(low, self.at_peak_s), high


def predict(experiment: Experiment, costs: Costs) -> Prediction:
    """A step of this experiment.

    Args:
        experiment: settled.
        costs: of the machine.

    Raises:
        UsageError: nothing was measured that tells it, or there is no formula for it.
    """
    its = _of_engine(experiment, costs)
    field = scope.no_formula(experiment)
    if field is not None:
        raise UsageError(f"{field}: no cost of that is calibrated; {PROJECT}")
    rates = Rates(costs.peak, costs.bandwidth, costs.threads, costs.cache)
    by_term = _seconds(experiment, its, rates, costs.far)
    plain = scope.plain(experiment.runtime.engine)
    of_reference = math.fsum(_seconds(plain, its, rates, costs.far).values())
    beyond, at_peak = scope.outside(experiment, its.range), least_s(experiment, rates)
    ratio = max(math.fsum(by_term.values()) / of_reference, at_peak / its.reference_s)
    doubts = scope.doubts(experiment, its.time.doubtful)
    of_memory = scope.doubts(experiment, its.memory.doubtful if its.memory else {})
    half = None if its.time.half is None else its.time.half + BEYOND * beyond.doublings
    half = None if half is None else half + sum(abs(error) for error in doubts.values())
    held, span = _memory(experiment, its, beyond.doublings, of_memory)
    return Prediction(
        ratio=ratio,
        ratio_span=None if half is None else _around(ratio, half),
        reference_s=its.reference_s,
        seconds=ratio * its.reference_s,
        at_peak_s=at_peak,
        by_term=by_term,
        memory_bytes=held,
        memory_span=span,
        machine_bytes=costs.memory,
        outside=beyond.words,
        doubts=[
            *(_doubt(value, error, ("long", "short")) for value, error in doubts.items()),
            *(_doubt(f"memory of {v}", e, ("high", "low")) for v, e in of_memory.items()),
        ],
        half=half,
        drift=costs.drift,
    )


def apart(experiment: Experiment, costs: Costs | None) -> float | None:
    """Time of a step while the CPUs lie far apart over that while they lie near each other.

    Args:
        experiment: settled.
        costs: of the machine; None where nothing is known of it.

    Returns:
        None where nothing was measured that tells it, or there is no formula for it.
    """
    its = None if costs is None else costs.engines.get(experiment.runtime.engine)
    if costs is None or its is None or scope.no_formula(experiment) is not None:
        return None
    rates = Rates(costs.peak, costs.bandwidth, costs.threads, costs.cache)
    far, near = (math.fsum(_seconds(experiment, its, rates, at).values()) for at in (1.0, 0.0))
    return far / near


def _doubt(value: str, error: float, too: tuple[str, str]) -> str:
    share, (above, below) = 100 * abs(math.expm1(error)), too
    return f"{value} (its cells are predicted {share:.0f} % too {above if error > 0 else below})"


def _of_engine(experiment: Experiment, costs: Costs) -> EngineCosts:
    engine = experiment.runtime.engine
    if engine in costs.engines:
        return costs.engines[engine]
    reason, instead = "too few cells tell what its steps cost", CALIBRATE
    if not specs.of(engine).is_calibrated:
        reason = "no suite calibrates it"
        instead = stacks.why_elsewhere(experiment, stacks.MAIN) or PROJECT
    known = ", ".join(costs.engines) or "none"
    raise UsageError(f"engine = {engine!r}: {reason} (calibrated: {known}); {instead}")


def _seconds(
    experiment: Experiment, its: EngineCosts, rates: Rates, far: float
) -> dict[str, float]:
    counted = terms(experiment, rates, far)
    return {name: cost * counted[name] for name, cost in its.time.coefficients.items()}


def _memory(
    experiment: Experiment, its: EngineCosts, doublings: float, doubts: Mapping[str, float]
) -> tuple[float | None, Span | None]:
    if its.memory is None:
        return None, None
    held = memory.total(experiment, its.memory.coefficients)
    if its.memory.half is None:
        return held, None
    half = its.memory.half + BEYOND * doublings + sum(abs(error) for error in doubts.values())
    return held, _around(held, half)


def _around(value: float, half: float) -> Span:
    return value * math.exp(-half), value * math.exp(half)
