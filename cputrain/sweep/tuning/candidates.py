"""The values of a knob as experiments, each that cannot be with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cputrain.analysis.tuning.known import Known
from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError
from cputrain.record.tuning import Fields, Outcome, Raced
from cputrain.run import placement, stacks
from cputrain.sweep.tuning.knobs import Changes, TuningKnob

FAR = 1.25
"""A change is not tried that the records call slower, and by more than this with its whole
interval."""


@dataclass(frozen=True)
class TuningCandidate:
    """A change that can be tried.

    Attributes:
        label: for people.
        changes: of the best so far.
        experiment: with them, settled.
        known: what the machine's records say of it; None where they say nothing.
    """

    label: str
    changes: Changes
    experiment: Experiment
    known: Known | None = None


def of(
    knob: TuningKnob, best: Experiment, kept: Sequence[str], known: Sequence[Known]
) -> tuple[list[TuningCandidate], list[Raced]]:
    """The candidates of a knob, and those that are none, each with the reason.

    Args:
        knob: whose values.
        best: so far, settled.
        kept: fields that are not to be changed.
        known: what the machine's records say.
    """
    can: list[TuningCandidate] = []
    cannot: list[Raced] = []
    usual = best.flat()
    for label, changes in knob.values(best).items():
        # None is the engine's plain way, which may be what is kept.
        if any(name in kept and v not in (None, usual[name]) for name, v in changes.items()):
            continue
        try:
            experiment = specs.settle(best.but(**changes))
            reason = _why_kept(experiment, best, kept) or placement.why_not(experiment, stacks.MAIN)
        except ExperimentError as error:
            reason = str(error)
        if reason is not None:
            cannot.append(refused(label, changes, reason))
            continue
        if experiment == best or any(experiment == other.experiment for other in can):
            continue
        past = next((each for each in known if each.says(experiment, best)), None)
        if past is not None and past.is_told and past.low > FAR:
            reason = (
                f"{past.value:.2f}x [{past.low:.2f}, {past.high:.2f}] in this machine's records"
            )
            cannot.append(refused(label, changes, reason, is_known=True))
            continue
        can.append(TuningCandidate(label, changes, experiment, past))
    return can, cannot


def by_promise(
    can: Sequence[TuningCandidate], usual: float, start_s: Callable[[Experiment], float]
) -> list[TuningCandidate]:
    """Candidates of a knob, those first that are likely to give most for the seconds they need.

    A race may have time for some of them only.

    Args:
        can: in an order that stays where nothing is known of any, and all start alike.
        usual: see `TuningKnob.expected`.
        start_s: seconds until a worker of an experiment is warm.
    """

    def gain_per_second(candidate: TuningCandidate) -> float:
        known = candidate.known
        expected = usual if known is None else known.expected(usual)
        return max(0.0, -math.log(expected)) / start_s(candidate.experiment)

    return sorted(can, key=gain_per_second, reverse=True)


def _why_kept(experiment: Experiment, best: Experiment, kept: Sequence[str]) -> str | None:
    """Why it may not be tried: its engine's plain way changes a field that is kept."""
    now, usual = experiment.flat(), best.flat()
    changed = [
        f"{name} {now[name]}, not {usual[name]}" for name in kept if now[name] != usual[name]
    ]
    return f"would have {' and '.join(changed)}, which is kept" if changed else None


def refused(label: str, changes: Changes, reason: str, is_known: bool = False) -> Raced:
    """A candidate that is not tried."""
    outcome: Outcome = "known" if is_known else "refused"
    return Raced(label=label, changes=fields(changes), outcome=outcome, reason=reason)


def fields(changes: Changes) -> Fields:
    """Changes as a record has them."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in changes.items()}
