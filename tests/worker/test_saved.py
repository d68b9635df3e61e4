"""Models on disk, and what training goes on from."""

import numpy as np
import pytest
from settled import settled

from cputrain.model.initial import initial_weights
from cputrain.worker import saved

SMALL = settled(n_layer=1, n_embd=32, n_head=2, seq_len=8)
CAP = 10**9


@pytest.fixture
def kept(tmp_path):
    weights = initial_weights(SMALL.but(seed=7))
    assert saved.save(tmp_path, SMALL, weights, CAP) == (saved.MODEL, None)
    return tmp_path / saved.MODEL, weights


def test_training_goes_on_from_what_was_saved(kept):
    path, weights = kept
    starting = saved.starting_weights(SMALL.but(fine_tuning="full"), path)
    assert starting.keys() == weights.keys()
    assert all(np.array_equal(starting[name], weights[name]) for name in weights)
    assert not np.array_equal(initial_weights(SMALL)["wte"], weights["wte"])


def test_the_record_names_the_model_that_was_started_from(kept):
    path, _ = kept
    before = saved.named(path)
    path.write_bytes(path.read_bytes() + b" ")
    after = saved.named(path)
    assert before.file == after.file == str(path)
    assert before.sha256 != after.sha256
    assert saved.named(None) is None


def test_a_head_of_its_own_starts_as_the_tied_one(kept):
    path, weights = kept
    starting = saved.starting_weights(SMALL.but(fine_tuning="head", tied=False), path)
    assert np.array_equal(starting["head.weight"], weights["wte"])
    starting["head.weight"][:] = 0
    assert weights["wte"].any() and starting["wte"].any()


def test_low_rank_additions_add_nothing_at_first(kept):
    path, weights = kept
    starting = saved.starting_weights(SMALL.but(fine_tuning="lora"), path)
    assert not starting["h.0.attn.qkv.lora_b"].any() and starting["h.0.attn.qkv.lora_a"].any()
    assert np.array_equal(starting["h.0.attn.qkv.weight"], weights["h.0.attn.qkv.weight"])


@pytest.mark.parametrize("changes", [{"n_layer": 2}, {"n_embd": 64}, {"seq_len": 9}])
def test_another_model_does_not_fit(kept, changes):
    with pytest.raises(saved.SavedModelError, match="does not fit"):
        saved.starting_weights(SMALL.but(fine_tuning="full", **changes), kept[0])


def test_a_missing_or_broken_file_is_named(tmp_path):
    path = tmp_path / saved.MODEL
    for _ in range(2):
        with pytest.raises(saved.SavedModelError, match=r"model.safetensors cannot be read"):
            saved.starting_weights(SMALL, path)
        path.write_bytes(b"\x10\x00\x00")


def test_a_model_over_the_cap_is_not_written(tmp_path):
    name, note = saved.save(tmp_path, SMALL, initial_weights(SMALL), 1000)
    assert name is None and "over the cap" in note
    assert not list(tmp_path.iterdir())
