"""Ranks weigh their rows and micro-batches by what counts: their mean is one process's step."""

import numpy as np
import pytest
from settled import SMALL

from cputrain import engines
from cputrain.data.batches import IGNORE, Batch
from cputrain.model.initial import initial_weights

torch = pytest.importorskip("torch")

from ranks_program import Plain  # noqa: E402

from cputrain.engines.torch_ import parallel  # noqa: E402

SGD = {"optimizer": "sgd", "optimizer_kernel": "default", "learning_rate": 0.5, "n_layer": 1}
BERT = {"architecture": "bert", "vocab_size": 300, "objective": "masked_node"}
RANKS = 4


def ranks(experiment, monkeypatch):
    """The engine of every rank, one after another in this process."""
    monkeypatch.setattr(parallel, "DistributedDataParallel", Plain)
    monkeypatch.setattr(parallel.dist, "get_world_size", lambda: RANKS)
    for rank in range(RANKS):
        monkeypatch.setattr(parallel.dist, "get_rank", lambda rank=rank: rank)
        yield parallel.ParallelEngine(experiment, initial_weights(experiment))


def step(experiment, empty=()):
    """A step's micro-batches; of every row another number of targets counts, or none."""
    rng, training = np.random.default_rng(0), experiment.training
    shape = (training.batch_size, training.seq_len)

    def targets(number):
        counts = rng.integers(1, 12, shape[0])
        counts[[row for n, row in empty if n == number]] = 0
        drawn = rng.integers(0, 257, shape)
        return np.where(np.arange(shape[1]) < counts[:, None], drawn, IGNORE)

    batches = []
    for number in range(training.grad_accum):
        parts = [rng.integers(0, 257, shape), targets(number)]
        if training.objective == "masked_node":
            parts += [rng.integers(0, 13, shape), targets(number)]
        batches.append(Batch(*parts))
    return batches


@pytest.mark.parametrize(
    ("changes", "empty"),
    [
        ({"batch_size": 4, "grad_accum": 3}, ()),
        ({"batch_size": 4}, [(0, 1)]),
        ({"batch_size": 2, "grad_accum": 4, "loss_chunk": 20}, [(1, 0), (1, 1), (2, 0)]),
        ({**BERT, "batch_size": 4, "grad_accum": 2}, ()),
        ({**BERT, "batch_size": 2, "grad_accum": 4}, ()),
    ],
    ids=["rows", "a row of nothing", "micro-batches shared", "nodes", "nodes shared"],
)
def test_the_mean_of_the_ranks_is_the_step_of_one_process(changes, empty, monkeypatch):
    training = {"processes": RANKS, **SGD, **changes}
    if "objective" not in changes:
        training["packing"] = "padded"
    experiment = SMALL.but(**training)
    batches = step(experiment, empty)
    losses, looks, weights = [], [], []
    for engine in ranks(experiment, monkeypatch):
        looks.append(engine.loss(batches[0]))
        losses.append(engine.train_step(*batches))
        weights.append(engine.weights())
    alone = experiment.but(processes=None)
    whole = engines.build(alone, initial_weights(alone))
    before = whole.weights()
    assert np.mean(looks) == pytest.approx(whole.loss(batches[0]), rel=1e-5)
    assert np.mean(losses) == pytest.approx(whole.train_step(*batches), rel=1e-5)
    for name, expected in whole.weights().items():
        moved = np.abs(expected - before[name]).max()
        mean = np.mean([own[name] for own in weights], axis=0, dtype=np.float64)
        assert np.abs(mean - expected).max() <= 1e-4 * moved + 1e-7, name
