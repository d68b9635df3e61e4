"""The speed of a machine while it trained for real: moments of runs of `train`.

A sweep's moments are some pairs each, with other work between them, for twenty minutes. A run keeps
the CPUs as busy as the one that is projected will, without a break, for hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cputrain.analysis.drift_apart import Slowdown
from cputrain.analysis.moments import PlacedMoment
from cputrain.analysis.places import FAR, Cpus, Places, Seen
from cputrain.record.noise import SHARED
from cputrain.results.step_moments import EVERY_S, StepMoment

BREAK_S = 60.0
"""Seconds between two moments from which they are of two sessions: the run was stopped, or the
machine slept."""
BREAK_STEPS = 3
"""Steps that such a break has to be longer than, where they are long."""


@dataclass(frozen=True)
class TrainedSteps:
    """The moments of a run.

    Attributes:
        name: of the run.
        moments: in their order.
        cpus: the two of which they tell where they were.
        slowdown: of the default experiment over the run's model.
    """

    name: str
    moments: Sequence[StepMoment]
    cpus: Cpus
    slowdown: Slowdown


def placed(runs: Iterable[TrainedSteps], places: Places) -> dict[str, list[PlacedMoment]]:
    """By session, moments as the default experiment would have seen them, but for a factor.

    Args:
        runs: of one machine.
        places: where its CPUs were in its sweeps.
    """
    by_session: dict[str, list[PlacedMoment]] = {}
    for run in runs:
        for number, moments in enumerate(_stretches(run.moments)):
            by_session[f"train/{run.name}/{number}"] = [_placed(m, run, places) for m in moments]
    return by_session


def _placed(moment: StepMoment, run: TrainedSteps, places: Places) -> PlacedMoment:
    far = None
    if run.cpus == places.cpus and moment.round_trip_ns is not None:
        on_one_core = moment.at_once is not None and moment.at_once > SHARED
        far = FAR[places.at(Seen(moment.round_trip_ns, on_one_core))]
    return PlacedMoment(moment.at_s, moment.step_s * run.slowdown.at(far or 0.0), far)


def _stretches(moments: Sequence[StepMoment]) -> Iterator[list[StepMoment]]:
    """Moments without a break, ascending: a clock that was set back begins another session."""
    stretch: list[StepMoment] = []
    for moment in moments:
        longest_s = max(BREAK_S, EVERY_S + BREAK_STEPS * moment.step_s)
        if stretch and not 0 < moment.at_s - stretch[-1].at_s <= longest_s:
            yield stretch
            stretch = []
        stretch.append(moment)
    if stretch:
        yield stretch
