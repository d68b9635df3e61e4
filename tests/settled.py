"""Experiments as everything behind the launcher sees them: every field has its real value."""

from cputrain.engines import specs
from cputrain.experiment import Experiment


def settled(**changes):
    return specs.settle(Experiment().but(**changes))
