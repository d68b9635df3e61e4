"""Operations and bytes of the parts of a step."""

import pytest
from settled import settled

from cputrain.model.flops import flops_per_step
from cputrain.model.parts import NAMES, by_part
from cputrain.model.shapes import n_params

TINY = {
    "n_layer": 1,
    "n_embd": 8,
    "n_head": 2,
    "mlp_ratio": 2,
    "vocab_size": 300,
    "seq_len": 4,
    "batch_size": 2,
}
LARGER = {"n_layer": 6, "n_embd": 512, "n_head": 8, "seq_len": 512, "vocab_size": 8000}


@pytest.mark.parametrize("engine", ["torch", "jax", "native", "numpy"])
@pytest.mark.parametrize("changes", [{}, LARGER, {"tied": False}, {"grad_accum": 3}, TINY])
def test_operations_add_up_to_those_of_the_step(engine, changes):
    experiment = settled(engine=engine, **changes)
    works = by_part(experiment)
    assert tuple(works) == NAMES
    assert sum(work.flops for work in works.values()) == flops_per_step(experiment).total
    assert all(works[name].flops > 0 for name in ("attention", "products", "head"))


def test_operations_of_a_forward_pass_too():
    experiment = settled(objective="forward")
    works = by_part(experiment)
    assert sum(work.flops for work in works.values()) == flops_per_step(experiment).total
    assert works["optimizer"].bytes == 0


def test_bytes_of_a_tiny_shape_by_hand():
    """n = 8 tokens, C = I = 8, H = 16, V = 300, T = 4."""
    experiment = settled(**TINY)
    works = by_part(experiment)
    numbers = {name: work.bytes / 4 for name, work in works.items()}
    assert numbers["embedding"] == 6 * 8 * 8 + 4 * 8
    assert numbers["attention"] == 12 * 8 * 8  # in one kernel
    qkv, proj, fc, mlp = 64 + 192 + 192, 64 + 64 + 64, 64 + 128 + 128, 128 + 128 + 64
    assert numbers["products"] == 3 * (qkv + proj + fc + mlp) == 3840
    assert numbers["head"] == 3 * (64 + 2400 + 2400) + 2 * 2400
    norms, activation, additions = 3 * 5 * 64, 8 * (16 + 16 + 32 + 16), 2 * 2 * 3 * 64
    assert numbers["elementwise"] == norms + activation + additions
    assert numbers["optimizer"] == 7 * n_params(experiment)
    assert works["data"].bytes == 2 * 8 * 8
    assert works["framework"].bytes == works["other"].bytes == 0


def test_bytes_by_how_an_engine_works():
    fused, by_hand = settled(**TINY), settled(attention_backend="manual", **TINY)
    native = settled(engine="native", **TINY)
    pairs = 16 * 2 * 2
    attention = [by_part(e)["attention"].bytes / 4 for e in (fused, by_hand)]
    assert attention[1] - attention[0] == 4 * pairs
    added = [by_part(e)["elementwise"].bytes / 4 for e in (fused, native)]
    assert added[0] - added[1] == 2 * 2 * 3 * 64


def test_bytes_of_other_sizes():
    once, twice = (by_part(settled(grad_accum=n, **TINY)) for n in (1, 2))
    for name in ("embedding", "attention", "products", "head", "elementwise", "data"):
        assert twice[name].bytes == 2 * once[name].bytes
    assert twice["optimizer"].bytes == once["optimizer"].bytes
    sgd = by_part(settled(optimizer="sgd", **TINY))
    assert sgd["optimizer"].bytes * 7 == once["optimizer"].bytes * 3
    assert (
        by_part(settled(optimizer="adafactor", optimizer_kernel="default", **TINY))[
            "optimizer"
        ].bytes
        is None
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"architecture": "lstm"},
        {"activation_checkpointing": True},
        {"attention": "local", "window": 128},
    ],
)
def test_what_the_formulas_are_not_of_is_refused(changes):
    with pytest.raises(ValueError, match="counted for a GPT"):
        by_part(settled(**changes))
