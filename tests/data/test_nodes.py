"""Nodes: each is the token that its relation says, by a plain loop over the stream."""

import numpy as np

from cputrain.data.batches import END, IGNORE
from cputrain.data.nodes import Nodes
from cputrain.data.windows import PackedWindows
from cputrain.model.shapes import RELATIONS

MASK, SEQ_LEN, HALF = 999, 128, 64
STREAM = np.random.default_rng(3).integers(300, 900, size=10_007)


def every_batch():
    nodes = Nodes(SEQ_LEN, 950, MASK, END, seed=2)
    windows = PackedWindows(STREAM, nodes.length, nodes.ahead)
    places = range(len(windows))
    return nodes.batch([windows[place] for place in places], places)


def test_a_node_is_the_token_that_its_relation_says():
    batch = every_batch()
    seen = 0
    for row, place in enumerate(batch.places):
        for j in range(HALF):
            relation = batch.relations[row, HALF + j]
            at = place * HALF + j + relation  # r + 1 places after token j
            told = batch.node_targets[row, HALF + j] != IGNORE
            node = batch.node_targets[row, HALF + j] if told else batch.inputs[row, HALF + j]
            inside = at < len(STREAM) and place * HALF + j < len(STREAM)
            assert node == (STREAM[at] if inside else END)
            seen += inside
    assert seen > 9_900


def test_relations_are_of_nodes_alone_and_all_alike_often():
    batch = every_batch()
    assert not batch.relations[:, :HALF].any()
    counts = np.bincount(batch.relations[:, HALF:].ravel(), minlength=13)
    assert counts[0] == 0 and len(counts) == RELATIONS + 1
    expected = batch.relations[:, HALF:].size / RELATIONS
    assert (abs(counts[1:] - expected) < 5 * np.sqrt(expected)).all()


def test_both_halves_are_masked_and_each_has_its_own_targets():
    batch = every_batch()
    assert (batch.targets[:, HALF:] == IGNORE).all()
    assert (batch.node_targets[:, :HALF] == IGNORE).all()
    inside = slice(0, len(STREAM) // HALF)  # sequences that are full
    for targets in (batch.targets[inside, :HALF], batch.node_targets[inside, HALF:]):
        selected = targets != IGNORE
        assert 0.14 < selected.mean() < 0.16
    hidden = batch.node_targets != IGNORE
    assert 0.75 < (batch.inputs[hidden] == MASK).mean() < 0.85


def test_tokens_are_the_text_without_gap():
    batch = every_batch()
    text = np.where(batch.targets == IGNORE, batch.inputs, batch.targets)[:, :HALF].ravel()
    assert (text[: len(STREAM)] == STREAM).all() and (text[len(STREAM) :] == END).all()
