"""Experiments as everything behind the launcher sees them: every field has its real value."""

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record.requests import WorkerRequest

NO_MODEL = WorkerRequest(folder="/nowhere", offline=True, model_cap_bytes=0)
"""What a worker is told that keeps no model."""

SIZES = {"n_layer": 2, "n_embd": 32, "n_head": 2, "seq_len": 24, "batch_size": 3}
"""Small, and with no two sizes alike but where they must be: a mixed-up axis shows."""
FEW_STEPS = {"steps": 4, "samples": 1, "tries": 1, "warm_up_steps": 4}
"""The shortest sample of a worker."""


def settled(**changes):
    return specs.settle(Experiment().but(**changes))


SMALL = settled(**SIZES)
