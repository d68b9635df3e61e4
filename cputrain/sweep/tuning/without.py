"""Each change of the winner by itself: the winner beside itself without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import structs

from cputrain.analysis.tuning import halving
from cputrain.experiment import ExperimentError
from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning import candidates, reduced
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.incumbent import Incumbent
from cputrain.sweep.tuning.race import TURNS, Racing
from cputrain.sweep.tuning.reduced import AsRun
from cputrain.sweep.tuning.workers import Workers, reference

KNOB = "without one change"
OF_WHOLE = "it shows in whole micro-batches alone, which is its race's"


def race(
    racing: Racing, workers: Workers, winner: Incumbent, now: Callable[[], float], until: float
) -> Race | None:
    """Race the winner, a fresh worker, with the winner without one of its changes each.

    In whole micro-batches where there is time for these, and smaller ones would hide a change.

    Returns:
        None where it has a single change, or none, or there is no time for it.
    """
    if len(winner.adopted) < 2:
        return None
    as_run: AsRun = reduced.reduced
    can, cannot = _each(winner, as_run)
    if any(raced.reason == OF_WHOLE for raced in cannot):
        every = _each(winner, reduced.composed)
        if now() + _least_s(winner, every[0], reduced.composed) <= until:
            as_run, (can, cannot) = reduced.composed, every
    if not can or now() + sum(reduced.start_s(as_run(c.experiment)) for c in can) > until:
        return None
    within_s = max(60.0, until - now())
    beside = reference(workers, as_run(winner.best), within_s, "the best so far")
    ran = racing.race(KNOB, winner.best, beside, can, until, as_run, halves=False)
    workers.end(ran.fastest)
    cannot += [candidates.refused(c.label, c.changes, "no room was left") for c in ran.waiting]
    return structs.replace(ran.race, candidates=[*ran.race.candidates, *cannot])


def _least_s(winner: Incumbent, can: Sequence[TuningCandidate], as_run: AsRun) -> float:
    """Seconds, guessed, until all have started and taken the fewest blocks."""
    runs = [as_run(each) for each in (winner.best, *(c.experiment for c in can))]
    return sum(reduced.start_s(run) + TURNS * reduced.block_s(run) for run in runs)


def _each(winner: Incumbent, as_run: AsRun) -> tuple[list[TuningCandidate], list[Raced]]:
    """The winner without one change each, and the changes of which that cannot be told."""
    can: list[TuningCandidate] = []
    cannot: list[Raced] = []
    for change in winner.adopted:
        label, changes = change.label, change.candidate.changes
        try:
            rest = winner.only([each for each in winner.adopted if each is not change]).best
        except ExperimentError as error:
            cannot.append(candidates.refused(label, changes, f"another needs it: {error}"))
            continue
        if reduced.hides(rest, winner.best, as_run):
            cannot.append(candidates.refused(label, changes, OF_WHOLE))
        else:
            can.append(TuningCandidate(label, changes, rest))
    return can, cannot


def needed(winner: Incumbent, race: Race, races: Sequence[Race]) -> Incumbent:
    """What is left without the changes that were not shown to be needed.

    Args:
        winner: with all its changes.
        race: of it beside itself without each change.
        races: that have told its changes to be faster.
    """
    won = {
        raced.label: _evidence(race, raced)
        for race in races
        for raced in race.candidates
        if raced.outcome == "adopted"
    }
    useless = [
        raced.label
        for raced in race.candidates
        if raced.log_ratios and not halving.is_needed(won[raced.label], _evidence(race, raced))
    ]
    try:
        return winner.only([each for each in winner.adopted if each.label not in useless])
    except ExperimentError:  # one that is needed needs one that is not
        return winner


def _evidence(race: Race, raced: Raced) -> halving.RaceEvidence:
    noise = halving.noise([each.log_ratios for each in race.candidates])
    return halving.RaceEvidence(raced.log_ratios, noise)
