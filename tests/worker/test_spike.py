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


class Thrown(Stepper):
    """Steps of which some begin with other weights than the step before them ended with."""

    next = ()

    def throw(self, factor, *then):
        """Put the weights far off; `then` has "good" or "bad" ones for the steps that follow."""
        good = self._engine.weights()
        bad = {name: array * np.float32(factor) for name, array in good.items()}
        self._engine.load_weights(bad)
        self.next = [{"good": good, "bad": bad}[each] for each in then]

    def train(self, steps):
        assert steps == 1
        if self.next:
            self._engine.load_weights(self.next.pop(0))
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
    job.stepper.throw(40.0, "good")
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


@pytest.mark.parametrize(("then", "steps"), [((), 9), (("bad", "good"), 9), (("good", "bad"), 10)])
def test_a_loss_that_is_high_after_two_of_three_steps_is_refused(job, then, steps):
    job.stepper.throw(40.0, *then)
    with pytest.raises(DidNotTrain, match="the loss of the first batch went from"):
        job.prove()
    assert job.engine.steps_done == steps


def test_the_steps_after_a_spike_are_counted_too(job, monkeypatch):
    job.stepper.throw(40.0, "good")
    step = job.engine.train_step

    def twice(*batches):
        step(*batches)
        return step(*batches)

    monkeypatch.setattr(job.engine, "train_step", twice)
    with pytest.raises(DidNotTrain, match="10 steps were asked for, the optimizer counted 12"):
        job.prove()


def test_a_loss_that_is_no_number_is_no_spike(job):
    job.stepper.throw(math.nan, "good")
    with pytest.raises((DidNotTrain, EngineError)):
        job.prove()
    assert job.engine.steps_done == 8
