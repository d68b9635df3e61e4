"""Feeds of every kind: what is in them, how much of it counts, what they say of themselves."""

import json
import subprocess
import sys

import numpy as np
import pytest
from made_feeds import DOCUMENTS, OBJECTIVES, equal, keep, opened

from cputrain.data.batches import END, IGNORE
from cputrain.data.corpus import DataError
from cputrain.experiment import Experiment


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_batches_have_the_experiment_s_shape_and_do_not_depend_on_the_process(kind, text_root):
    fields = {"seq_len": 32, "batch_size": 3, "seed": 4, **OBJECTIVES[kind]}
    feed, twin = opened(text_root, **fields), opened(text_root, **fields)
    first = feed.first
    given = [feed.next() for _ in range(5)]
    assert equal(given[0], first) and equal(twin.first, first)
    assert all(equal(batch, twin.next()) for batch in given)
    assert not equal(given[1], given[2])
    arrays = [given[1].inputs, given[1].targets]
    if kind == "masked_node":
        arrays += [given[1].relations, given[1].node_targets]
    else:
        assert given[1].relations is None and given[1].node_targets is None
    for array in arrays:
        assert array.shape == (3, 32) and array.dtype == np.int64 and array.flags.c_contiguous
    assert max(array.max() for array in arrays) < Experiment().but(**fields).model.vocab_size
    other = opened(text_root, **(fields | {"seed": 5}))
    assert not equal(other.first, first)
    assert feed.waited_s == 0.0 and feed.thread_ids == () and feed.queue_bytes == 0


def test_next_tokens_of_a_made_corpus_and_their_share(small):
    """Packed: all tokens but the first are targets once, in sequences of 16."""
    feed = opened(small, seq_len=16, rows=5)
    facts = feed.facts()
    stream = [token for document in DOCUMENTS for token in document]
    assert facts["sequences"] == -(-(len(stream) - 1) // 16)
    batches = [feed.next() for _ in range(facts["sequences"])]
    targets = np.concatenate([b.targets[b.targets != IGNORE] for b in batches])
    assert sorted(targets) == sorted(stream[1:])
    assert facts["counted_share"] == (len(stream) - 1) / (16 * facts["sequences"])


def test_no_padded_sequence_crosses_documents_and_none_loses_a_token(small):
    feed = opened(small, packing="padded", seq_len=16, rows=5)
    facts = feed.facts()
    pieces = [-(-(len(document) - 1) // 16) for document in DOCUMENTS]
    assert facts["sequences"] == sum(pieces) and 0 in pieces and max(pieces) > 2
    sequences: dict[int, list[int]] = {}
    counted = 0
    for _ in range(facts["sequences"]):
        batch = feed.next()
        (inputs,), (targets,), (place,) = batch.inputs, batch.targets, batch.places
        count = int((targets != IGNORE).sum())
        assert (targets[:count] != IGNORE).all()
        assert END not in inputs[:count]  # so that no target is of another document
        assert (inputs[count:] == END).all()
        sequences[int(place)] = [inputs[0], *targets[:count]]
        counted += count
    expected = [
        document[start : start + 17]
        for document in DOCUMENTS
        for start in range(0, len(document) - 1, 16)
    ]
    assert [sequences[place] for place in range(len(sequences))] == expected
    assert facts["counted_share"] == counted / (16 * facts["sequences"])


@pytest.mark.parametrize("kind, share", [("masked", 0.15), ("masked_node", 0.15)])
def test_the_share_of_masked_targets(kind, share, text_root):
    feed = opened(text_root, seq_len=128, batch_size=64, **OBJECTIVES[kind])
    batch = feed.first
    counted = (batch.targets != IGNORE).sum()
    if kind == "masked_node":
        counted += (batch.node_targets != IGNORE).sum()
    assert feed.facts()["counted_share"] == counted / batch.inputs.size
    assert feed.facts()["counted_share"] == pytest.approx(share, abs=0.01)


def test_the_mask_is_the_last_row_and_text_never_has_it(text_root):
    pytest.importorskip("tokenizers")
    feed = opened(text_root, **OBJECTIVES["masked"] | {"vocab_size": 300}, batch_size=8)
    batch = feed.next()
    assert feed.facts()["tokenizer"] == "bpe-299" and feed.facts()["vocab"] == 299
    assert (batch.inputs == 299).any() and batch.targets.max() < 299
    assert opened(text_root, **OBJECTIVES["masked"]).facts()["tokenizer"] == "bytes"


def test_facts_are_json_and_complete(text_root):
    feed = opened(text_root, batch_size=2, grad_accum=4)
    facts = json.loads(json.dumps(feed.facts()))
    assert "pydoc_data" in facts["source"] and facts["tokenizer"] == "bytes"
    assert facts["vocab"] == 257 and facts["note"] is None
    assert facts["steps_per_epoch"] == -(-facts["sequences"] // 8)
    assert facts["prepared_s"] > 0


def test_all_rows_are_the_whole_corpus(tmp_path):
    keep(tmp_path, ["one row", "another"])
    assert opened(tmp_path, rows=None, seq_len=4).facts()["sequences"] == 4
    assert opened(tmp_path, rows=1, seq_len=4).facts()["sequences"] == 2
    with pytest.raises(DataError, match="rows = 1000"):
        opened(tmp_path)


@pytest.mark.parametrize("packing", ["packed", "padded"])
def test_a_corpus_of_nothing_is_one_line(tmp_path, packing):
    keep(tmp_path, [""])
    with pytest.raises(DataError, match=r"made: .*two"):
        opened(tmp_path, rows=None, packing=packing)


def test_paths_come_from_walks(tmp_path):
    feed = opened(tmp_path, **OBJECTIVES["paths"], seq_len=64, batch_size=16)
    facts = feed.facts()
    assert facts["sequences"] == 11_000 and facts["tokenizer"] == "paths" and facts["vocab"] == 45
    assert facts["counted_share"] == pytest.approx(15 / 64, rel=0.02)
    assert list(tmp_path.iterdir()) == [], "walks need no corpus"
    batch = feed.next()
    assert (batch.inputs[batch.targets == IGNORE] == 44).all()


@pytest.fixture(scope="session")
def fifty_thousand(text_root):
    """A feed with a BPE of up to 50 000 ids, trained offline on the built-in corpus."""
    pytest.importorskip("tokenizers")
    return opened(text_root, vocab_size=50_000, rows=None)


def test_a_vocabulary_of_50_000_works_offline(fifty_thousand):
    facts = fifty_thousand.facts()
    assert facts["tokenizer"] == "bpe-50000"
    assert 5_000 < facts["vocab"] <= 50_000, "the entries that the corpus really gave"
    batches = [fifty_thousand.next() for _ in range(50)]
    for batch in batches:
        fifty_thousand.check(batch)
    assert max(batch.inputs.max() for batch in batches) > 4_000


def test_the_second_feed_of_50_000_finds_everything_made(fifty_thousand, text_root):
    before = {path: path.stat().st_mtime_ns for path in text_root.iterdir()}
    again = opened(text_root, vocab_size=50_000, rows=None)
    assert again.facts() == fifty_thousand.facts()
    assert before == {path: path.stat().st_mtime_ns for path in text_root.iterdir()}


OPEN = """
import sys
from pathlib import Path
import numpy
from cputrain.data import feed
from cputrain.experiment import Experiment
feed.open_feed(Experiment(), Path(sys.argv[1]), offline=False).first
heavy = {"torch", "datasets", "tokenizers", "urllib.request", "psutil"} & set(sys.modules)
print(sorted(heavy))
"""


def test_the_baseline_s_feed_imports_nothing_heavy(text_root):
    opened(text_root)
    command = [sys.executable, "-c", OPEN, str(text_root)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
