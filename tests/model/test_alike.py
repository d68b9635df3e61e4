"""Tensors that are alike are counted together: the same as one by one, however many blocks."""

import math

import pytest
from settled import settled

from cputrain.model import fresh, shapes
from cputrain.model.counts import counts
from cputrain.model.parts import by_part

pytestmark = pytest.mark.tools

BASE = settled()
KINDS = (
    {},
    {"architecture": "llama", "fine_tuning": "lora"},
    {"architecture": "bert", "objective": "masked_node", "vocab_size": 300},
    {"architecture": "moe"},
    {"architecture": "ssm", "precision": "q8"},
    {"architecture": "lstm"},
    {"architecture": "gmlp", "tied": False},
    {"fine_tuning": "lora"},
    {"fine_tuning": "head", "tied": False},
    {"optimizer": "adafactor", "optimizer_kernel": "default"},
)


@pytest.mark.parametrize("changes", KINDS, ids=str)
@pytest.mark.parametrize("n_layer", [1, 2, 5])
def test_tensors_that_are_alike_are_all_there(changes, n_layer):
    experiment = BASE.but(n_layer=n_layer, **changes)
    every = shapes.weight_shapes(experiment)
    names = {
        name.replace("h.1.", f"h.{block}.")
        for name, _, copies in shapes.alike(experiment)
        for block in range(1, copies + 1)
    }
    assert names == every.keys()
    assert all(every[name] == shape for name, shape, _ in shapes.alike(experiment))
    assert shapes.n_params(experiment) == sum(map(math.prod, every.values()))
    free = shapes.trained(experiment)
    assert shapes.n_trained(experiment) == sum(math.prod(every[name]) for name in free)


@pytest.mark.parametrize("changes", KINDS, ids=str)
def test_each_further_block_counts_as_the_second_which_is_alone(changes):
    one, two, many = (counts(BASE.but(n_layer=n, **changes)) for n in (1, 2, 102))
    for name in ("n_params", "n_trained", "flops_per_step", "flops_formula"):
        assert many[name] - two[name] == 100 * (two[name] - one[name]), name
    for name, size in many["memory"].items():
        block = two["memory"][name] - one["memory"][name]
        assert size - two["memory"][name] == pytest.approx(100 * block, abs=100), name


def test_each_further_block_counts_in_every_part():
    one, two, many = (by_part(BASE.but(n_layer=n)) for n in (1, 2, 102))
    for name in one:
        for of_many, of_two, of_one in zip(many[name], two[name], one[name], strict=True):
            assert of_many - of_two == 100 * (of_two - of_one), name


def test_many_blocks_take_no_longer_to_count_than_two(monkeypatch):
    asked, of_gpt = [], shapes.BLOCKS["gpt"]
    monkeypatch.setitem(shapes.BLOCKS, "gpt", lambda e: asked.append(e.model.n_layer) or of_gpt(e))
    deep = BASE.but(n_layer=1000)
    counts(deep), by_part(deep), fresh.pages(deep)
    assert set(asked) == {2}


def test_all_blocks_have_the_shapes_of_one(monkeypatch):
    asked, of_gpt = [], shapes.BLOCKS["gpt"]
    monkeypatch.setitem(shapes.BLOCKS, "gpt", lambda e: asked.append(e) or of_gpt(e))
    assert len(shapes.weight_shapes(BASE.but(n_layer=1000))) == 12 * 1000 + 4
    assert len(asked) == 1
