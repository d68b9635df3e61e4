"""How much of what is masked a model has right, counted beside the very loss of evaluation."""

import numpy as np
import pytest
from made_engine import BERT, DROPS, build, differing, make_batch
from settled import SMALL

from cputrain.data.batches import IGNORE, Batch
from cputrain.engines import accuracy

torch = pytest.importorskip("torch")


def masked(experiment, seed=0):
    """Every fourth target counts, those of nodes in the second half."""
    batch = make_batch(experiment, seed)
    keep = np.arange(batch.targets.shape[1]) % 4 == 0
    half = np.arange(batch.targets.shape[1]) < batch.targets.shape[1] // 2
    nodes = batch.node_targets
    return Batch(
        batch.inputs,
        np.where(keep & half, batch.targets, IGNORE),
        batch.relations,
        None if nodes is None else np.where(keep & ~half, nodes, IGNORE),
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"loss_chunk": 20}, {"activation_checkpointing": True}, DROPS],
    ids=["plain", "chunked", "checkpointed", "dropout"],
)
def test_the_loss_is_that_of_evaluation_and_nothing_moves(changes):
    experiment = SMALL.but(**BERT, **changes)
    engine, other, batch = build(experiment), build(experiment), masked(experiment)
    random = torch.get_rng_state()
    loss, hits = engine.score(batch)
    assert torch.equal(torch.get_rng_state(), random)
    assert loss == pytest.approx(other.loss(batch), rel=1e-6)
    counts = {"tokens": batch.targets, "nodes": batch.node_targets}
    for name, targets in counts.items():
        right, of = hits[name]
        assert of == np.count_nonzero(targets != IGNORE)
        assert 0 <= right <= of
    assert not differing(engine.weights(), other.weights())


def test_what_is_learned_by_heart_is_all_right():
    experiment = SMALL.but(**BERT, learning_rate=0.01)
    engine, batch = build(experiment), masked(experiment)
    before = engine.score(batch)[1]
    for _ in range(80):
        engine.train_step(batch)
    after = engine.score(batch)[1]
    for name in (accuracy.TOKENS, accuracy.NODES):
        assert before[name][0] < before[name][1] // 2
        assert after[name][0] == after[name][1] == before[name][1]


def test_a_target_that_is_not_the_likeliest_is_no_hit():
    from cputrain.engines.torch_.hits import right

    x = torch.eye(3).view(1, 3, 3)
    targets = torch.tensor([[0, 2, IGNORE]])
    assert right(x, torch.eye(3), None, targets) == (1, 2)
    bias = torch.tensor([0.0, 0.0, 9.0])
    assert right(x, torch.eye(3), bias, targets) == (1, 2)
    assert right(x, torch.eye(3), bias, torch.tensor([[2, 2, 2]])) == (3, 3)


def test_without_masks_there_is_a_reason():
    assert "masks none" in accuracy.why_none(build(SMALL), SMALL)
    experiment = SMALL.but(**BERT)
    assert accuracy.why_none(build(experiment), experiment) is None

    class Silent:
        name = "silent"

    assert "the silent engine" in accuracy.why_none(Silent(), experiment)
