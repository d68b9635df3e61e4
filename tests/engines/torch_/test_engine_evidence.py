"""What the engine shows of a step, and that showing it changes nothing."""

import numpy as np
import pytest
from made_engine import BERT, DROPS, SLOW_KERNEL, build, differing, make_batch
from settled import SMALL

torch = pytest.importorskip("torch")
from cputrain.engines.torch_.evidence import products_again, profiled  # noqa: E402

KINDS = {
    "sgd": {"optimizer": "sgd"},
    "lion": {"optimizer": "lion", **SLOW_KERNEL},
    "adafactor": {"optimizer": "adafactor", **SLOW_KERNEL},
    "lora": {"fine_tuning": "lora"},
    "head": {"fine_tuning": "head", "tied": False},
    "bf16": {"precision": "bf16"},
    "mixed": {"precision": "mixed"},
    "q8": {"precision": "q8"},
    "torchao int8": {"precision": "q8_torchao"},
    "torchao bitnet": {"precision": "bitnet_torchao"},
    "bitnet": {"precision": "bitnet"},
    "dropout": DROPS,
    "checkpointed dropout": {"activation_checkpointing": True, **DROPS},
    "forward": {"objective": "forward"},
    "moe": {"architecture": "moe"},
    "lstm": {"architecture": "lstm"},
    "two heads": BERT,
    "compiled": {"compile": "aot_eager", "n_layer": 1},
    "compiled bf16": {"compile": "aot_eager", "n_layer": 1, "precision": "bf16"},
}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


@pytest.mark.parametrize("name", KINDS)
def test_looking_changes_nothing(name):
    experiment = SMALL.but(learning_rate=0.01, **KINDS[name])
    batch = make_batch(experiment)
    results = []
    for look in (False, True):
        engine, losses = build(experiment), []
        for step in range(2):
            if look:
                before = engine.weights()
                engine.loss(batch)
                engine.gradients(batch)
                evidence = engine.evidence(batch)
                assert engine.steps_done == step
                assert differing(before, engine.weights()) == set()
            losses.append(engine.train_step(batch))
            if look and step:  # the first pass of a compiled model is not all its own
                assert [check for check in evidence.precision if not check.ok] == []
        results.append((losses, engine.weights(), engine.state_bytes(), torch.get_rng_state()))
    (plain_losses, plain, plain_bytes, plain_random), (losses, looked, kept, random) = results
    assert losses == plain_losses
    assert differing(looked, plain) == set()
    assert kept == plain_bytes
    assert torch.equal(random, plain_random)


@pytest.mark.parametrize("architecture", ["gpt", "llama", "gmlp", "ssm", "moe"])
@pytest.mark.parametrize("again", [False, True])
def test_blocks_that_are_computed_again_are_seen(architecture, again):
    experiment = SMALL.but(architecture=architecture, activation_checkpointing=again)
    assert build(experiment).evidence(make_batch(SMALL)).checkpointed == again


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("changes", [{"fine_tuning": "lora"}, {**BERT, "loss_chunk": 20}], ids=str)
def test_compiled_blocks_that_are_computed_again_are_seen(changes, again):
    experiment = SMALL.but(
        n_layer=1, compile="aot_eager", activation_checkpointing=again, **changes
    )
    engine, batch = build(experiment), make_batch(experiment)
    engine.train_step(batch)
    evidence = engine.evidence(batch)
    assert evidence.checkpointed == again
    assert (evidence.graphs, evidence.graph_breaks, evidence.backend_called) == (1, 0, True)


def test_products_are_counted_by_pass():
    from cputrain.engines.torch_.evidence import in_backward

    x, w = torch.ones(3, 4, requires_grad=True), torch.ones(4, 5, requires_grad=True)

    def step(extra):
        with profiled() as profile:
            y = (x @ w).sum()
            with in_backward():
                y.backward()
                for _ in range(extra):
                    torch.mm(x, w)
        return profile

    assert not products_again(step(0), vocab_size=99)
    assert products_again(step(1), vocab_size=99)
    assert not products_again(step(1), vocab_size=5)  # all of them are the head's


def test_experts_show_their_load():
    experiment = SMALL.but(architecture="moe")
    load = build(experiment).evidence(make_batch(SMALL)).moe_load
    assert len(load) == experiment.model.n_layer
    assert all(len(row) == 4 and sum(row) == pytest.approx(1) for row in load)
    assert build(SMALL).evidence(make_batch(SMALL)).moe_load is None


def test_what_torch_says_of_itself():
    engine = build(SMALL)
    readings = engine.readings()
    assert readings["intra_op_threads"] == torch.get_num_threads()
    assert isinstance(readings["mkldnn_bf16"], bool)
    versions = engine.versions()
    assert versions["torch"] == torch.__version__
    assert versions["numpy"] == np.__version__
