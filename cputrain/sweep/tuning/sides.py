"""The two sides of a test, tuned and default, as they run there, and how long its passes take."""

from __future__ import annotations

from dataclasses import dataclass

from cputrain.experiment import Experiment
from cputrain.sweep.tuning import reduced

FEWEST_PAIRS = 3
"""Of a pass."""
TO_SPARE = 1.2
"""Seconds of a later pass, at most, over those that the passes before tell."""


@dataclass(frozen=True)
class Sides:
    """The experiments of a test, as they run there.

    Attributes:
        tuned, default: what is compared.
        twin: runs in two workers in the first pass, which tells the noise where the records do
            not: the tuned one where both have one engine, else the default one.
        engines: the twin's, then the other one where there are two.
    """

    tuned: Experiment
    default: Experiment

    @property
    def twin(self) -> Experiment:
        """See above."""
        return self.tuned if engine(self.tuned) == engine(self.default) else self.default

    @property
    def engines(self) -> tuple[str, ...]:
        """See above."""
        return tuple(dict.fromkeys(map(engine, (self.twin, self.tuned, self.default))))


def engine(experiment: Experiment) -> str:
    """Its name."""
    return experiment.runtime.engine


def sides(tuned: Experiment, default: Experiment) -> Sides:
    """Both in whole micro-batches, as many of them as a step of seconds leaves time for."""
    return Sides(reduced.composed(tuned), reduced.composed(default))


def pass_s(tested: Sides, has_twin: bool = True) -> float:
    """A guess at the seconds of a pass with as few pairs as will do.

    Args:
        tested: what it compares.
        has_twin: see `Sides.twin`.
    """
    every = (tested.tuned, tested.default, *([tested.twin] if has_twin else []))
    start = sum(reduced.start_s(each) for each in every)
    return start + (FEWEST_PAIRS + 1) * sum(map(reduced.block_s, every))


def passes_s(tested: Sides) -> float:
    """The same of two passes, the first with a twin: of one a verdict takes more."""
    return TO_SPARE * (pass_s(tested) + pass_s(tested, has_twin=False))
