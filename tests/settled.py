"""Experiments as everything behind the launcher sees them: every field has its real value."""

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record.requests import WorkerRequest

NO_MODEL = WorkerRequest(folder="/nowhere", offline=True, model_cap_bytes=0)
"""What a worker is told that keeps no model."""


def settled(**changes):
    return specs.settle(Experiment().but(**changes))
