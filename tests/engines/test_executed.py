"""That what an engine really executed is held against what was asked."""

import pytest
from settled import settled

from cputrain.engines import executed
from cputrain.knobs.inforce import NotInForce, require

FLASH = {
    "aten::_scaled_dot_product_flash_attention_for_cpu": 4,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": 4,
}
HONEST = {"ops": FLASH, "optimizer_kernel": "fused", "checkpointed": False, "precision": []}


def test_what_was_asked_and_executed_passes():
    require(executed.checks(settled(), HONEST))
    assert executed.checks(settled(engine="numpy", attention_backend="manual"), {}) == []


@pytest.mark.parametrize(
    ("changes", "evidence", "named"),
    [
        ({}, {"ops": {"aten::_softmax": 4}}, "attention kernels: asked for >= 4, found 0"),
        ({"n_layer": 5}, {}, "attention kernels: asked for >= 5, found 4"),
        ({"attention_backend": "manual"}, {}, "attention kernels: asked for 0, found 4"),
        ({"optimizer_kernel": "foreach"}, {}, "optimizer kernel"),
        ({}, {"ops": FLASH | {"aten::bernoulli_": 1}}, "dropout masks: asked for 0, found 1"),
        (
            {"dropout": 0.1, "attention_backend": "manual"},
            {"ops": {"aten::bernoulli_": 12}},
            "dropout masks: asked for >= 13, found 12",
        ),
        ({}, {"optimizer_kernel": "default"}, "optimizer kernel"),
        ({"activation_checkpointing": True}, {}, "computed again"),
        ({}, {"checkpointed": True}, "computed again"),
        ({}, {"precision": [("int8 product", "> 0", 0, False)]}, "int8 product"),
    ],
)
def test_what_was_not_executed_as_asked_is_named(changes, evidence, named):
    with pytest.raises(NotInForce, match=named):
        require(executed.checks(settled(**changes), HONEST | evidence))


COMPILED = HONEST | {
    "graphs": 1,
    "graph_breaks": 0,
    "recompiles": 0,
    "backend_called": True,
    "inductor_kernels": 7,
    "fused": True,
    "cache_hits": 0,
    "cache": {"fxgraph_misses": 0},
}


@pytest.mark.parametrize(
    ("changes", "evidence", "named"),
    [
        ({}, {"graphs": 2}, "compiled graphs"),
        ({}, {"graph_breaks": 1}, "graph breaks"),
        ({}, {"recompiles": 1}, "recompiles"),
        ({}, {"backend_called": False}, "backend called"),
        ({}, {"inductor_kernels": 0}, "inductor kernels"),
        ({}, {"cache_hits": 1, "cache": {"fxgraph_misses": 1}}, "from the cache"),
        ({"jit_state": "cold"}, {"cache_hits": 1}, "from the cache"),
        ({"jit_state": "warm"}, {}, "from the cache"),
        (
            {"jit_state": "warm"},
            {"cache_hits": 2, "cache": {"fxgraph_misses": 1}},
            "compiled anew",
        ),
        ({"fusion": False}, {}, "fused operations"),
        ({}, {"fused": False}, "fused operations"),
    ],
)
def test_a_compiler_that_did_something_else_is_named(changes, evidence, named):
    asked = settled(compile="inductor")
    require(executed.checks(asked, COMPILED))
    with pytest.raises(NotInForce, match=named):
        require(executed.checks(asked.but(**changes), COMPILED | evidence))


def test_a_steady_worker_may_find_all_its_code_compiled():
    """By another worker of the session, which showed the fusions."""
    found = {"cache_hits": 2, "cache": {"fxgraph_misses": 0}, "fused": None}
    require(executed.checks(settled(compile="inductor"), COMPILED | found))


def test_models_without_attention_need_no_attention_kernel():
    require(executed.checks(settled(architecture="ssm"), HONEST | {"ops": {}}))


def test_an_lstm_needs_its_fused_kernel():
    lstm = settled(architecture="lstm")
    require(executed.checks(lstm, HONEST | {"ops": {"aten::mkldnn_rnn_layer": 4}}))
    with pytest.raises(NotInForce, match="LSTM"):
        require(executed.checks(lstm, HONEST))
