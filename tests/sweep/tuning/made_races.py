"""Races as records have them, of changes that were not run, and the factors that they make."""

import math

from settled import settled

from cputrain.engines import specs
from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning import knobs
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.factors import Factors
from cputrain.sweep.tuning.incumbent import Incumbent

DEFAULT = settled()
NOTHING = Incumbent.nothing(DEFAULT)
ACTIVE, PASSIVE = ({"wait_policy": value} for value in ("active", "passive"))
PAGES = {"huge_pages": "madvise"}
MIMALLOC = {"allocator": "mimalloc"}


def label(changes):
    return ", ".join(f"{name}={value}" for name, value in changes.items())


def raced(changes, ratio, outcome="raced", blocks=8):
    """A candidate whose blocks all took so many times the reference's."""
    logs = [math.log(ratio)] * blocks
    return Raced(label=label(changes), changes=changes, outcome=outcome, log_ratios=logs)


def race(knob, *candidates, reference=DEFAULT):
    return Race(knob=knob, reference=reference.to_json(), candidates=list(candidates))


def adopted(knob, changes, incumbent=NOTHING):
    """The incumbent after a change has won its race."""
    best = specs.settle(incumbent.best.but(**changes))
    return incumbent.plus(knob, TuningCandidate(label(changes), changes, best))


def factors_of(races, incumbent=NOTHING, without=None):
    expected = {knob.name: knob.expected for knob in knobs.table()}
    return Factors(races, incumbent, expected, without)
