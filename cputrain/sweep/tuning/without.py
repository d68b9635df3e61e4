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
from cputrain.sweep.tuning.race import Racing
from cputrain.sweep.tuning.workers import Workers, reference

KNOB = "without one change"
OF_WHOLE = "it shows in whole micro-batches alone, which is its race's"


def race(
    racing: Racing, workers: Workers, winner: Incumbent, now: Callable[[], float], until: float
) -> Race | None:
    """Race the winner, a fresh worker, with the winner without one of its changes each.

    Returns:
        None where it has a single change, or none, or there is no time for it.
    """
    can, cannot = _each(winner)
    expected_s = sum(reduced.start_s(reduced.reduced(c.experiment)) for c in can)
    if len(winner.adopted) < 2 or not can or now() + expected_s > until:
        return None
    within_s = max(60.0, until - now())
    beside = reference(workers, reduced.reduced(winner.best), within_s, "the best so far")
    ran = racing.race(KNOB, winner.best, beside, can, until, reduced.reduced, halves=False)
    workers.end(ran.fastest)
    cannot += [candidates.refused(c.label, c.changes, "no room was left") for c in ran.waiting]
    return structs.replace(ran.race, candidates=[*ran.race.candidates, *cannot])


def _each(winner: Incumbent) -> tuple[list[TuningCandidate], list[Raced]]:
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
        if reduced.same(reduced.reduced(rest), reduced.reduced(winner.best)):
            cannot.append(candidates.refused(label, changes, OF_WHOLE))
        else:
            can.append(TuningCandidate(label, changes, rest))
    return can, cannot


def needed(winner: Incumbent, race: Race, races: Sequence[Race]) -> tuple[Incumbent, list[str]]:
    """What is left without the changes that were not shown to be needed, and what these are.

    Args:
        winner: with all its changes.
        race: of it beside itself without each change.
        races: that have told its changes to be faster, or nearly so.
    """
    every = [(race, raced) for race in races for raced in race.candidates if raced.log_ratios]
    every.sort(key=lambda both: both[1].outcome == "adopted")  # these last: they count
    won = {raced.label: _evidence(race, raced) for race, raced in every}
    useless = [
        raced.label
        for raced in race.candidates
        if raced.log_ratios and not halving.is_needed(won[raced.label], _evidence(race, raced))
    ]
    try:
        return winner.only([each for each in winner.adopted if each.label not in useless]), useless
    except ExperimentError:  # one that is needed needs one that is not
        return winner, []


def _evidence(race: Race, raced: Raced) -> halving.RaceEvidence:
    noise = halving.noise([each.log_ratios for each in race.candidates])
    return halving.RaceEvidence(raced.log_ratios, noise)
