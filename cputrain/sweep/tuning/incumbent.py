"""The incumbent of a search: the changes of the default that it goes on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.sweep.tuning.candidates import TuningCandidate


@dataclass(frozen=True)
class Adopted:
    """A change that won its race."""

    knob: str
    candidate: TuningCandidate

    @property
    def label(self) -> str:
        """What it is called."""
        return self.candidate.label


@dataclass(frozen=True)
class Incumbent:
    """The best settings so far.

    Attributes:
        default: what was to be made faster, settled.
        adopted: the changes, in the order in which they won.
        best: the default with all of them, settled.
    """

    default: Experiment
    adopted: tuple[Adopted, ...]
    best: Experiment

    @classmethod
    def nothing(cls, default: Experiment) -> Incumbent:
        """Before the first race."""
        return cls(default, (), default)

    def plus(self, knob: str, candidate: TuningCandidate) -> Incumbent:
        """With one more change, in the place of an earlier one of the same knob."""
        others = tuple(each for each in self.adopted if each.knob != knob)
        return Incumbent(self.default, (*others, Adopted(knob, candidate)), candidate.experiment)

    def only(self, adopted: Sequence[Adopted]) -> Incumbent:
        """With some of the changes. Raises ExperimentError where they do not fit together."""
        best = self.default
        for each in adopted:
            best = specs.settle(best.but(**each.candidate.changes))
        return Incumbent(self.default, tuple(adopted), best)
