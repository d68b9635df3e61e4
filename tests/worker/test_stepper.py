"""Steps on the clock, on the NumPy engine and real feeds."""

import time

import numpy as np
import pytest
from settled import settled

from cputrain import engines
from cputrain.data import feed
from cputrain.errors import DidNotTrain
from cputrain.model.initial import initial_weights
from cputrain.worker.stepper import Stepper

NUMPY = {"engine": "numpy", "attention_backend": "manual"}
SMALL = settled(n_layer=1, n_embd=32, n_head=2, seq_len=32, **NUMPY)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def made(root, **changes):
    experiment = SMALL.but(**changes)
    engine = engines.build(experiment, initial_weights(experiment))
    data = feed.open_feed(experiment, root, offline=True)
    return Stepper(experiment, engine, data), engine, data


def test_every_step_takes_the_next_micro_batches(root):
    stepper, engine, _ = made(root, grad_accum=3, batch_size=2)
    _, twin, same = made(root, grad_accum=3, batch_size=2)
    step_s = stepper.train(2)
    expected = [twin.train_step(*(same.next() for _ in range(3))) for _ in range(2)]
    assert stepper.losses == expected
    assert engine.steps_done == len(step_s) == 2
    assert stepper.training_s >= sum(step_s) > 0
    assert stepper.composed is None


def test_a_reckoned_step_is_near_a_whole_one_and_says_what_it_is(root):
    """The check of the sum: 2 of 16 micro-batches against all of them, by their ratio."""
    sizes = {"seq_len": 256, "n_embd": 128, "grad_accum": 16}
    part, engine, _ = made(root, micro_batches=2, **sizes)
    whole, _, _ = made(root, **sizes)
    ratios = []
    for _ in range(7):
        (reckoned,), (all_of_it,) = part.train(1), whole.train(1)
        ratios.append(reckoned / all_of_it)
    assert 0.6 < np.median(ratios) < 1.6
    assert part.composed == "sum of 2 micro-batches x 8 and the update"
    assert engine.steps_done == 7
    assert part.losses[-1] < part.losses[0]


def test_waiting_for_a_stream_is_on_the_clock_and_in_memory_it_is_not(root, monkeypatch):
    stepper, _, data = made(root, loader="stream")
    honest = data.next

    def late():
        time.sleep(0.05)
        return honest()

    monkeypatch.setattr(data, "next", late)
    assert min(stepper.train(2)) > 0.05
    assert 0 < stepper.waited_s < stepper.training_s
    data.close()
    stepper, _, data = made(root)
    honest = data.next
    monkeypatch.setattr(data, "next", late)
    assert min(stepper.train(2)) < 0.05
    assert stepper.waited_s == 0


def test_a_target_that_is_its_own_input_is_caught(root, monkeypatch):
    """The harness mistake of an earlier sweep: it trained to repeat, not to predict."""
    import dataclasses

    stepper, _, data = made(root)
    honest = data.next
    monkeypatch.setattr(
        data, "next", lambda: dataclasses.replace(b := honest(), targets=b.inputs.copy())
    )
    with pytest.raises(DidNotTrain):
        stepper.train(1)
