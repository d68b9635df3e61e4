"""torch.compile: what proves that it was in force, and that nothing falls back."""

import numpy as np
import pytest
from msgspec import structs
from settled import settled

from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.engines import EngineError, executed
from cputrain.engines.torch_ import product_work
from cputrain.engines.torch_.schema import TorchEvidence
from cputrain.knobs.inforce import NotInForce, require
from cputrain.model import initial

torch = pytest.importorskip("torch")

TINY = settled(n_layer=1, n_embd=32, n_head=2, seq_len=24, batch_size=3)


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def build(backend, attention="sdpa"):
    experiment = TINY.but(compile=backend, attention_backend=attention)
    return engines.build(experiment, initial.initial_weights(experiment))


def follows_eager(engine, batch_of):
    eager = engines.build(TINY, initial.initial_weights(TINY))
    for i in range(4):
        batch = batch_of(TINY, seed=i)
        assert engine.train_step(batch) == pytest.approx(eager.train_step(batch), rel=1e-3)
    batch = batch_of(TINY)
    assert engine.loss(batch) == pytest.approx(eager.loss(batch), rel=1e-3)


@pytest.mark.parametrize("attention", ["sdpa", "manual"])
def test_aot_eager_is_one_graph(attention, batch_of):
    engine = build("aot_eager", attention)
    experiment = TINY.but(compile="aot_eager", attention_backend=attention)
    follows_eager(engine, batch_of)
    for _ in range(2):  # looking compiles nothing
        evidence = engine.evidence(batch_of(TINY))
        assert all(check.ok for check in evidence.precision)
        shown = structs.replace(evidence, ops={}, precision=[], optimizer=None)
        by_hand = TINY.training.batch_size * TINY.model.kv_heads
        assert shown == TorchEvidence(
            graphs=1,
            graph_breaks=0,
            recompiles=0,
            backend_called=True,
            optimizer_kernel="fused",
            checkpointed=False,
            precision=[],
            queries=TINY.training.seq_len,
            heads=[[TINY.model.n_head, TINY.model.kv_heads]] if attention == "sdpa" else [],
            batched=[] if attention == "sdpa" else [by_hand],
            product_flops=product_work.expected(experiment),
        )
    require(executed.checks(experiment, evidence))
    other = {"sdpa": "manual", "manual": "sdpa"}[attention]
    with pytest.raises(NotInForce, match="fused attention kernels"):
        require(executed.checks(experiment.but(attention_backend=other), evidence))


@pytest.mark.parametrize(
    "changes",
    [
        {"grad_accum": 3},
        {"architecture": "bert", "vocab_size": 300, "objective": "masked_node"},
        {"precision": "bf16"},
        {"precision": "mixed"},
        {"precision": "q4"},
        {"dropout": 0.2, "attention_backend": "manual", "activation_checkpointing": True},
        {"objective": "forward"},
    ],
    ids=str,
)
def test_one_graph_whatever_is_trained(changes, batch_of):
    experiment = TINY.but(compile="aot_eager", **changes)
    engine = engines.build(experiment, initial.initial_weights(experiment))
    for first in (0, 3):
        batches = [batch_of(experiment, seed=first + i) for i in range(3)]
        if experiment.training.objective == "masked_node":
            batches = [with_nodes(batch) for batch in batches]
        engine.train_step(*batches[: experiment.training.grad_accum])
        engine.loss(batches[0])
        engine.gradients(batches[0])
        evidence = engine.evidence(batches[0])
        assert (evidence.graphs, evidence.graph_breaks, evidence.recompiles) == (1, 0, 0)
        assert evidence.backend_called


def with_nodes(batch):
    """The batch with nodes in place of every other token."""
    relations = np.where(np.arange(batch.inputs.shape[1]) % 2, 1 + batch.inputs % 12, 0)
    return Batch(batch.inputs, batch.targets, relations, batch.targets)


def test_a_step_that_ran_eagerly_is_seen(batch_of):
    engine = build("aot_eager")
    with torch.compiler.set_stance("force_eager"):
        engine.train_step(batch_of(TINY))
        evidence = engine.evidence(batch_of(TINY))
    assert evidence.graphs == 0
    assert not evidence.backend_called


def test_a_compiled_model_that_goes_back_to_eager_is_seen(batch_of):
    engine = build("aot_eager")
    engine.train_step(batch_of(TINY))
    with torch.compiler.set_stance("force_eager"):
        evidence = engine.evidence(batch_of(TINY))
    assert evidence.graphs == 1
    assert not evidence.backend_called


def test_what_was_compiled_before_is_not_counted_however_much_it_was(batch_of):
    function = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
    for _ in range(10):  # dynamo stops at eight of one function
        torch._dynamo.reset()
        for size in range(1, 9):
            function(torch.ones(size))
    torch._dynamo.reset()
    engine = build("aot_eager")
    engine.train_step(batch_of(TINY))
    evidence = engine.evidence(batch_of(TINY))
    assert (evidence.graphs, evidence.recompiles) == (1, 0)


def test_recompiling_is_seen(batch_of):
    engine = build("aot_eager")
    engine.train_step(batch_of(TINY))
    with torch.no_grad():
        engine._passes.forward(batch_of(TINY))
    evidence = engine.evidence(batch_of(TINY))
    assert (evidence.graphs, evidence.recompiles) == (1, 1)


@pytest.mark.parametrize("suppress", [False, True])
def test_a_backend_that_fails_is_an_error(suppress, monkeypatch, batch_of):
    from torch._dynamo.backends import registry

    def broken(graph, inputs):
        raise RuntimeError("no compiler here\nand more")

    registry.lookup_backend("aot_eager")
    monkeypatch.setitem(registry._COMPILER_FNS, "aot_eager", broken)
    engine = build("aot_eager")
    message = r"torch\.compile with aot_eager: .*no compiler here"
    with (
        torch._dynamo.config.patch(suppress_errors=suppress),
        pytest.raises(EngineError, match=message),
    ):
        engine.train_step(batch_of(TINY))
    assert engine.steps_done == 0
