"""A model that learns and was thrown off for one step is no failure, and any other is."""

import math

import numpy as np
import pytest
from msgspec import structs
from safetensors.numpy import load_file
from settled import NO_MODEL, settled

from cputrain import engines
from cputrain.data import feed
from cputrain.engines import EngineError
from cputrain.errors import DidNotTrain
from cputrain.model.initial import initial_weights
from cputrain.worker.job import Job
from cputrain.worker.stepper import Stepper

NUMPY = {"engine": "numpy", "attention_backend": "manual"}
SMALL = settled(**NUMPY, n_layer=1, n_embd=16, n_head=2, seq_len=16, batch_size=4)
FOR_ONE_STEP, FOR_GOOD = 1, 100
"""Steps from the one that was thrown off to the one that goes on from the weights before."""


class Thrown(Stepper):
    """Steps of which the last is far off; after some more the weights before it are back."""

    _left = 0

    def throw(self, factor, steps):
        self._good, self._left = self._engine.weights(), steps
        self._engine.load_weights({n: a * np.float32(factor) for n, a in self._good.items()})

    def train(self, steps):
        assert steps == 1
        self._left -= 1
        if self._left == 0:
            self._engine.load_weights(self._good)
        return super().train(steps)


@pytest.fixture
def job(own_root, tmp_path):
    job = object.__new__(Job)
    job.experiment, job.request = SMALL, structs.replace(NO_MODEL, folder=str(tmp_path))
    job.request = structs.replace(job.request, model_cap_bytes=10**9)
    job.feed = feed.open_feed(SMALL, own_root / "data", offline=True)
    job.engine = engines.build(SMALL, initial_weights(SMALL))
    job.initial, job.first_loss = job.engine.weights(), job.engine.loss(job.feed.first)
    job.evidence, job.gradients_hold = job.engine.looked(job.feed.first).evidence, False
    job.stepper, job.phases, job.said = Thrown(SMALL, job.engine, job.feed), {}, []
    job.say = job.said.append
    Stepper.train(job.stepper, 8)
    return job


def test_a_spike_of_one_step_is_recorded_and_the_steps_after_it_are_proven_and_saved(job):
    job.stepper.throw(40.0, FOR_ONE_STEP)
    thrown = job.engine.loss(job.feed.first)
    job.finish()
    finished = job.said[-1]
    assert finished.trained.spike_loss == thrown > job.first_loss > finished.last_loss
    assert finished.trained.steps_taken == finished.trained.steps_done == 10
    job.engine.load_weights(load_file(job.request.folder + "/" + finished.model_file))
    assert job.engine.loss(job.feed.first) == finished.last_loss


def test_where_the_loss_fell_nothing_more_is_trained(job):
    job.prove()
    assert job.said[-1].trained.spike_loss is None
    assert job.said[-1].trained.steps_done == 8


@pytest.mark.parametrize("steps", [2, FOR_GOOD])
def test_a_loss_that_stays_high_for_two_steps_is_refused(job, steps):
    job.stepper.throw(40.0, steps)
    with pytest.raises(DidNotTrain, match="the loss of the first batch went from"):
        job.prove()
    assert job.engine.steps_done == 9


def test_a_loss_that_rises_again_after_the_spike_is_refused(job):
    """Of the three steps that are asked it has to be one."""
    honest, losses = job.engine.loss, iter([9.0, 1.0, 9.0])
    job.engine.loss = lambda batch: next(losses, honest(batch))
    with pytest.raises(DidNotTrain, match=r"to 9\.0000"):
        job.prove()


def test_a_loss_that_is_no_number_is_no_spike(job):
    job.stepper.throw(math.nan, FOR_ONE_STEP)
    with pytest.raises((DidNotTrain, EngineError)):
        job.prove()
    assert job.engine.steps_done == 8
