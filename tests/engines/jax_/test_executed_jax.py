"""That what a JAX step executed is held against what was asked."""

import pytest
from settled import settled

from cputrain.engines import executed
from cputrain.engines.jax_.schema import JaxEvidence
from cputrain.knobs.inforce import NotInForce, require
from cputrain.model.flops import flops_per_step
from cputrain.model.shapes import n_params
from cputrain.record.part import typed

JAX = settled(engine="jax", compile="xla")
WEIGHTS = n_params(JAX)
WEIGHTS_OF_ONE = n_params(JAX.but(seq_len=1))
STEP = {"name": "step", "compiled": 1, "hits": 0, "misses": 0}
HONEST = {
    "loops": 120,
    "loops_of_several": 100,
    "calls_of_several": 3,
    "products": {"ynnpack": 40},
    "numbers": {"f32": 40},
    "fused_attention": 12,
    "computed_again": 0,
    "random": 0,
    "donated": 3 * WEIGHTS + 2,
    "not_donated": [],
    "program": STEP,
    "target": ["sse4.2", "avx", "avx2", "fma"],
    "operations": flops_per_step(JAX).total,
    "side_by_side": [4],
    "by_hand": 0,
    "functions": ["erf"],
}


def test_what_was_asked_and_executed_passes():
    require(executed.checks(JAX, typed(JaxEvidence, HONEST)))


@pytest.mark.parametrize(
    ("changes", "evidence", "named"),
    [
        ({}, {"loops_of_several": 0}, "loops of several"),
        ({"fusion": False}, {}, "loops of several"),
        ({"fusion": False}, {"loops_of_several": 0}, "library calls of several"),
        ({}, {"fused_attention": 0}, "dot_product_attention: asked for > 0"),
        ({"attention_backend": "manual"}, {}, "dot_product_attention: asked for 0"),
        ({}, {"numbers": {"f32": 39, "bf16 as f32": 1}}, "numbers of matrix products"),
        ({"precision": "bf16"}, {}, "bf16 in each"),
        ({"precision": "mixed"}, {"numbers": {"bf16": 30, "f32": 1}}, "bf16 in each"),
        ({"precision": "mixed"}, {"numbers": {}}, "bf16 in each"),
        ({}, {"donated": 2 * WEIGHTS}, "updated in place"),
        ({}, {"donated": 4 * WEIGHTS + 2}, "updated in place"),
        ({}, {"operations": HONEST["operations"] // 2}, "operations of matrix products"),
        ({"grad_accum": 2}, {}, "operations of matrix products"),
        ({}, {"side_by_side": [1]}, r"side by side: asked for \[4\]"),
        ({"attention": "sliding", "window": 64}, {"operations": None}, r"asked for \[4, 12\]"),
        ({}, {"by_hand": 9}, "by hand: asked for 0"),
        ({}, {"functions": []}, "functions of the activation"),
        ({"activation": "relu"}, {}, "functions of the activation"),
        ({}, {"not_donated": ["f32[257, 256]"]}, "new memory"),
        ({"activation_checkpointing": True}, {}, "computed again: asked for >= 4"),
        ({}, {"computed_again": 4}, "computed again: asked for 0"),
        ({"dropout": 0.1, "attention_backend": "manual"}, {"fused_attention": 0}, "random"),
        ({}, {"random": 9}, "random generator: asked for 0"),
        (
            {"dropout": 0.1, "attention_backend": "manual"},
            {"fused_attention": 0, "random": 9, "dropped": [0.2]},
            "share that is dropped",
        ),
        (
            {"dropout": 0.1, "attention_backend": "manual"},
            {"fused_attention": 0, "random": 9, "dropped": [0.1], "drawn": 256 * 256},
            "random numbers drawn",
        ),
        ({"instruction_set": "avx2"}, {}, "YNNPACK"),
        ({"instruction_set": "baseline"}, {"products": {"xla": 40}}, "target above baseline"),
        ({"instruction_set": "avx2"}, {"target": ["avx512f"]}, "target above avx2"),
        ({}, {"program": STEP | {"compiled": 2}}, "compilations of the step"),
        ({}, {"program": STEP | {"hits": 1}}, "from the cache"),
        ({"jit_state": "cold"}, {"program": STEP | {"hits": 1}}, "from the cache"),
        ({"jit_state": "cold"}, {}, "although there is a cache: asked for 1"),
        ({"jit_state": "warm"}, {}, "from the cache"),
        ({"jit_state": "warm"}, {"program": STEP | {"misses": 1}}, "from the cache"),
    ],
)
def test_what_was_not_executed_as_asked_is_named(changes, evidence, named):
    with pytest.raises(NotInForce, match=named):
        require(executed.checks(JAX.but(**changes), typed(JaxEvidence, HONEST | evidence)))


@pytest.mark.parametrize(
    ("changes", "evidence"),
    [
        ({"precision": "mixed"}, {"numbers": {"bf16 as f32": 30, "bf16": 1}}),
        ({"optimizer": "sgd", "optimizer_kernel": "default"}, {"donated": WEIGHTS}),
        ({"optimizer": "lion", "optimizer_kernel": "default"}, {"donated": 2 * WEIGHTS}),
        ({"jit_state": "cold"}, {"program": STEP | {"misses": 1}}),
        ({"jit_state": "warm"}, {"program": STEP | {"hits": 1}}),
        ({"instruction_set": "avx2"}, {"products": {"xla": 40}}),
        ({"seq_len": 1}, {"operations": 1, "side_by_side": [], "donated": 3 * WEIGHTS_OF_ONE}),
        ({}, {"operations": None, "side_by_side": None, "by_hand": None, "functions": None}),
    ],
)
def test_other_settings_pass_with_their_own_evidence(changes, evidence):
    require(executed.checks(JAX.but(**changes), typed(JaxEvidence, HONEST | evidence)))
