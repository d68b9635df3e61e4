"""Steps on the clock, on the NumPy engine and real feeds."""

from types import SimpleNamespace

import pytest
from settled import settled

from cputrain import engines
from cputrain.data import feed
from cputrain.errors import DidNotTrain
from cputrain.model.initial import initial_weights
from cputrain.worker import stepper as stepping
from cputrain.worker import timing
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


class Clock:
    """In the place of the stepper's clocks: stands still but for what the test says, seconds."""

    def __init__(self, monkeypatch):
        self.now = 0
        honest = timing.timed
        monkeypatch.setattr(stepping, "time", SimpleNamespace(perf_counter=lambda: self.now))
        monkeypatch.setattr(
            timing, "timed", lambda step, steps: honest(step, steps, lambda: self.now * 10**9)
        )

    def takes(self, seconds, call):
        """`call`, which takes so long."""

        def late(*given):
            self.now += seconds
            return call(*given)

        return late


def test_a_reckoned_step_is_a_whole_one_s_and_says_what_it_is(root, monkeypatch):
    """The check of the sum: 2 of 16 micro-batches against all of them."""
    part, engine, _ = made(root, micro_batches=2, grad_accum=16)
    whole, other, _ = made(root, grad_accum=16)
    clock = Clock(monkeypatch)
    for computing in (engine, other):
        monkeypatch.setattr(computing, "accumulate", clock.takes(3, computing.accumulate))
        monkeypatch.setattr(computing, "update", clock.takes(5, computing.update))
    assert part.train(7) == whole.train(7) == [16 * 3 + 5] * 7
    assert part.training_s == 7 * (2 * 3 + 5)
    assert part.composed == "sum of 2 micro-batches x 8 and the update"
    assert engine.steps_done == 7
    assert part.losses[-1] < part.losses[0]


def test_waiting_for_a_stream_is_on_the_clock_and_in_memory_it_is_not(root, monkeypatch):
    clock = Clock(monkeypatch)
    stepper, _, data = made(root, loader="stream")
    monkeypatch.setattr(data, "next", clock.takes(5, data.next))
    assert stepper.train(2) == [5, 5] and stepper.training_s == 10
    assert stepper.waited_s == data.waited_s > 0
    data.close()
    stepper, _, data = made(root)
    monkeypatch.setattr(data, "next", clock.takes(5, data.next))
    assert stepper.train(2) == [0, 0] and stepper.training_s == 0
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
