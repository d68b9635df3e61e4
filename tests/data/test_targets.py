"""The check finds what a harness can get wrong, for each objective, and nothing in our batches."""

from dataclasses import replace

import numpy as np
import pytest
from made_feeds import OBJECTIVES, opened

from cputrain.data.batches import IGNORE
from cputrain.errors import DidNotTrain


@pytest.fixture(params=OBJECTIVES)
def any_feed(request, text_root):
    return opened(
        text_root, seq_len=32, batch_size=8, **({"rows": 100} | OBJECTIVES[request.param])
    )


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def test_our_batches_pass_for_more_than_an_epoch(any_feed):
    steps = any_feed.facts()["sequences"] // 8 + 2
    for _ in range(steps):
        any_feed.check(any_feed.next())


def test_target_equal_to_input_is_found(any_feed):
    """The fault of an earlier published sweep."""
    batch = any_feed.next()
    targets = batch.inputs.copy()
    if batch.relations is not None:
        targets[batch.relations > 0] = IGNORE
    with pytest.raises(DidNotTrain, match="targets are not the"):
        any_feed.check(replace(batch, targets=targets))


def test_one_wrong_target_is_found(any_feed):
    batch = any_feed.next()
    at = tuple(np.argwhere(batch.targets != IGNORE)[-1])
    with pytest.raises(DidNotTrain, match=r"1 of [0-9]+ targets are not"):
        any_feed.check(replace(batch, targets=changed(batch.targets, at, batch.targets[at] ^ 1)))


def test_one_wrong_input_is_found(any_feed):
    batch = any_feed.next()
    at = tuple(np.argwhere(batch.targets == IGNORE)[0]) if (batch.targets < 0).any() else (3, 7)
    with pytest.raises(DidNotTrain, match=r"1 of 256 inputs|1 of 128 inputs"):
        any_feed.check(replace(batch, inputs=changed(batch.inputs, at, batch.inputs[at] ^ 1)))


def test_a_batch_without_targets_is_found(any_feed):
    batch = any_feed.next()
    with pytest.raises(DidNotTrain):
        any_feed.check(replace(batch, targets=np.full_like(batch.targets, IGNORE)))


def test_the_targets_of_other_sequences_are_found(any_feed):
    a, b = any_feed.next(), any_feed.next()
    with pytest.raises(DidNotTrain):
        any_feed.check(replace(a, targets=b.targets))
    with pytest.raises(DidNotTrain):
        any_feed.check(replace(a, places=b.places))


def test_a_batch_that_does_not_say_where_it_is_from_is_found(any_feed):
    batch = any_feed.next()
    with pytest.raises(DidNotTrain, match="does not say"):
        any_feed.check(replace(batch, places=None))
    with pytest.raises(DidNotTrain, match="of which there are"):
        any_feed.check(replace(batch, places=batch.places + 10**6))


@pytest.fixture(params=["masked", "masked_node"])
def masked_feed(request, text_root):
    return opened(text_root, seq_len=128, batch_size=4, **OBJECTIVES[request.param])


def test_masked_tokens_that_nobody_masked_are_found(masked_feed):
    """Targets are there, and the model can read each of them off its input."""
    batch = masked_feed.next()
    plain = np.where(batch.targets == IGNORE, batch.inputs, batch.targets)
    with pytest.raises(DidNotTrain, match=r"none of [0-9]+ tokens that are targets is masked"):
        masked_feed.check(replace(batch, inputs=plain))


def test_predicting_every_token_is_found(masked_feed):
    batch = masked_feed.next()
    original = np.where(batch.targets == IGNORE, batch.inputs, batch.targets)
    if batch.relations is not None:
        original[:, 64:] = IGNORE
    with pytest.raises(DidNotTrain, match="more than half"):
        masked_feed.check(replace(batch, targets=original))


def test_a_mask_without_a_target_is_found(masked_feed):
    batch = masked_feed.next()
    at = tuple(np.argwhere((batch.inputs == 257) & (batch.targets != IGNORE))[0])
    with pytest.raises(DidNotTrain, match="inputs are not the document's token"):
        masked_feed.check(replace(batch, targets=changed(batch.targets, at, IGNORE)))


@pytest.fixture
def node_batch(text_root):
    feed = opened(text_root, seq_len=128, batch_size=4, **OBJECTIVES["masked_node"])
    return feed, feed.next()


def test_node_targets_equal_to_inputs_are_found(node_batch):
    feed, batch = node_batch
    nodes = np.where(np.arange(128) < 64, IGNORE, batch.inputs)
    with pytest.raises(DidNotTrain, match="not the original node"):
        feed.check(replace(batch, node_targets=nodes))


def test_a_wrong_relation_is_found(node_batch):
    """A relation one too far names another token, but where a letter is doubled."""
    feed, batch = node_batch
    relations = batch.relations.copy()
    relations[:, 64:] = relations[:, 64:] % 12 + 1
    with pytest.raises(DidNotTrain, match="node"):
        feed.check(replace(batch, relations=relations))


@pytest.mark.parametrize("at, value", [((0, 3), 1), ((0, 70), 0), ((0, 70), 13)])
def test_relations_of_tokens_or_unknown_ones_are_found(node_batch, at, value):
    feed, batch = node_batch
    with pytest.raises(DidNotTrain, match="relations are not 0 with tokens"):
        feed.check(replace(batch, relations=changed(batch.relations, at, value)))


def test_targets_of_the_wrong_head_are_found(node_batch):
    feed, batch = node_batch
    with pytest.raises(DidNotTrain, match="one head stand where the other's"):
        feed.check(replace(batch, targets=changed(batch.targets, (0, 100), 5)))
    with pytest.raises(DidNotTrain, match="no nodes"):
        feed.check(replace(batch, node_targets=None))


def test_padding_that_goes_on_into_the_next_document_is_found(small):
    """Packed sequences given out as padded ones."""
    padded = opened(small, packing="padded", seq_len=64, batch_size=2, rows=5)
    packed = opened(small, seq_len=64, batch_size=2, rows=5)
    with pytest.raises(DidNotTrain):
        for _ in range(3):
            padded.check(packed.next())
