"""That what an engine really executed is held against what was asked."""

import pytest
from settled import settled

from cputrain.engines import executed
from cputrain.engines.numpy_.schema import NumpyEvidence
from cputrain.engines.torch_.executed import FLASH, LSTM
from cputrain.engines.torch_.schema import ACTIVATION, MASK, CacheUse, TorchEvidence
from cputrain.knobs.inforce import NotInForce, require
from cputrain.record.part import typed

CALLED = {f"{ACTIVATION}aten::gelu": 4}
FUSED = {FLASH: 4, **CALLED}
HONEST = {"ops": FUSED, "optimizer_kernel": "fused", "checkpointed": False, "precision": []}


def torch_evidence(values):
    return typed(TorchEvidence, values)


def cache_use(fxgraph_misses):
    unused = dict.fromkeys(CacheUse.__struct_fields__, 0)
    return unused | {"fxgraph_misses": fxgraph_misses}


def test_what_was_asked_and_executed_passes():
    require(executed.checks(settled(), torch_evidence(HONEST)))
    assert (
        executed.checks(settled(engine="numpy", attention_backend="manual"), NumpyEvidence()) == []
    )


@pytest.mark.parametrize(
    ("changes", "evidence", "named"),
    [
        ({}, {"ops": {MASK: 0}}, "attention kernels: asked for >= 4, found 0"),
        ({"n_layer": 5}, {}, "attention kernels: asked for >= 5, found 4"),
        ({"attention_backend": "manual"}, {}, "attention kernels: asked for 0, found 4"),
        ({"optimizer_kernel": "foreach"}, {}, "optimizer kernel"),
        ({}, {"ops": FUSED | {MASK: 1}}, "dropout masks: asked for 0, found 1"),
        (
            {"dropout": 0.1, "attention_backend": "manual"},
            {"ops": {MASK: 12}},
            "dropout masks: asked for >= 13, found 12",
        ),
        (
            {"dropout": 0.1, "attention_backend": "manual"},
            {"ops": {MASK: 13, **CALLED}, "dropped": [0.2]},
            "share that is dropped: asked for .0.1., found .0.2.",
        ),
        ({}, {"optimizer_kernel": "default"}, "optimizer kernel"),
        ({"activation_checkpointing": True}, {}, "computed again"),
        ({}, {"checkpointed": True}, "computed again"),
        ({}, {"precision": [("int8 product", "> 0", 0, False)]}, "int8 product"),
    ],
)
def test_what_was_not_executed_as_asked_is_named(changes, evidence, named):
    with pytest.raises(NotInForce, match=named):
        require(executed.checks(settled(**changes), torch_evidence(HONEST | evidence)))


COMPILED = HONEST | {
    "graphs": 1,
    "graph_breaks": 0,
    "recompiles": 0,
    "backend_called": True,
    "inductor_kernels": 7,
    "inductor_loops": 5,
    "fused": True,
    "cache_hits": 0,
    "cache": cache_use(0),
}


@pytest.mark.parametrize(
    ("changes", "evidence", "named"),
    [
        ({}, {"graphs": 2}, "compiled graphs"),
        ({}, {"graph_breaks": 1}, "graph breaks"),
        ({}, {"recompiles": 1}, "recompiles"),
        ({}, {"backend_called": False}, "backend called"),
        ({}, {"inductor_kernels": 0}, "inductor kernels"),
        ({}, {"cache_hits": 1, "cache": cache_use(1)}, "from the cache"),
        ({"jit_state": "cold"}, {"cache_hits": 1}, "from the cache"),
        ({"jit_state": "warm"}, {}, "from the cache"),
        (
            {"jit_state": "warm"},
            {"cache_hits": 2, "cache": cache_use(1)},
            "compiled anew",
        ),
        ({}, {"queries": 128}, "queries of a call"),
        ({"fusion": False}, {}, "fused operations"),
        ({}, {"fused": False}, "fused operations"),
    ],
)
def test_a_compiler_that_did_something_else_is_named(changes, evidence, named):
    experiment = settled(compile="inductor")
    require(executed.checks(experiment, torch_evidence(COMPILED)))
    with pytest.raises(NotInForce, match=named):
        require(executed.checks(experiment.but(**changes), torch_evidence(COMPILED | evidence)))


def test_a_steady_worker_may_find_all_its_code_compiled():
    """By another worker of the session, which showed the fusions."""
    warm = {"cache_hits": 2, "cache": cache_use(0), "fused": None}
    require(executed.checks(settled(compile="inductor"), torch_evidence(COMPILED | warm)))


def test_models_without_attention_need_no_attention_kernel():
    require(executed.checks(settled(architecture="ssm"), torch_evidence(HONEST | {"ops": {}})))


def test_an_lstm_needs_its_fused_kernel():
    lstm = settled(architecture="lstm")
    fused = torch_evidence(HONEST | {"ops": {LSTM: 4}})
    require(executed.checks(lstm, fused))
    with pytest.raises(NotInForce, match="LSTM"):
        require(executed.checks(lstm, torch_evidence(HONEST)))
