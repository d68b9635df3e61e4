"""Changes of different knobs that no race has told to be faster, as one change.

Several of a hundredth each are more than any of their races could tell.
"""

from __future__ import annotations

from collections.abc import Sequence

from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError
from cputrain.record.tuning import Fields, Race, Raced
from cputrain.sweep.tuning import near, reduced
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.incumbent import Incumbent
from cputrain.sweep.tuning.reduced import AsRun


def candidates(races: Sequence[Race], incumbent: Incumbent) -> tuple[list[TuningCandidate], AsRun]:
    """The two best that can be together, and all that can; and what of them is run.

    That is whole micro-batches where the best settings race with those anyway, as a smaller one
    would hide what another size of theirs changes. Where they do not, that change is left out.
    """
    best = incumbent.best
    is_whole = reduced.same(reduced.reduced(best), reduced.composed(best))
    as_run = reduced.composed if is_whole else reduced.reduced
    changes = [
        raced
        for raced in near.changes(races, incumbent).values()
        if not _is_hidden(raced, best, as_run)
    ]
    can: list[TuningCandidate] = []
    for most in (2, len(changes)):
        joined = _joined(changes, best, most)
        if joined is not None and all(each.experiment != joined.experiment for each in can):
            can.append(joined)
    return can, as_run


def _is_hidden(raced: Raced, best: Experiment, as_run: AsRun) -> bool:
    """Whether a race would run the same with a change as without, or cannot have it."""
    try:
        changed = specs.settle(best.but(**raced.changes))
    except ExperimentError:
        return True
    return reduced.hides(changed, best, as_run)


def _joined(changes: Sequence[Raced], best: Experiment, most: int) -> TuningCandidate | None:
    """The first changes as one, without what cannot be beside an earlier one.

    None where fewer than two can be together.
    """
    labels: list[str] = []
    fields: Fields = {}
    experiment = best
    for raced in changes:
        if len(labels) == most:
            break
        try:
            experiment = specs.settle(experiment.but(**raced.changes))
        except ExperimentError:
            continue
        labels.append(raced.label)
        fields = {**fields, **raced.changes}
    return None if len(labels) < 2 else TuningCandidate(" and ".join(labels), fields, experiment)
