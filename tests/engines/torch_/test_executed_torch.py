"""What is held against a profile fails where the model that ran is another than was asked for."""

import pytest
from made_engine import build, make_batch
from settled import SMALL

torch = pytest.importorskip("torch")
from cputrain.engines.torch_ import executed  # noqa: E402
from cputrain.knobs.inforce import NotInForce, require  # noqa: E402

BASE = SMALL.but(seq_len=32)
WINDOWS = {"attention": "local", "window": 8}
MANUAL = {"attention_backend": "manual"}
COMPILED = {"compile": "aot_eager", "n_layer": 1}
MOE = {"architecture": "moe", "n_layer": 1}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def of_second_pass(experiment):
    """The first one of a compiled model has the compiler's own operators too."""
    engine, batch = build(experiment), make_batch(experiment)
    engine.train_step(batch)
    return engine.evidence(batch)


@pytest.mark.parametrize(
    ("ran", "claimed", "named"),
    [
        ({}, {"activation": "relu"}, "calls of relu"),
        ({"activation": "silu"}, {"activation": "gelu"}, "calls of gelu"),
        ({"activation": "relu2"}, {"activation": "swiglu"}, "calls of silu"),
        ({"activation": "relu2"}, {"activation": "relu"}, "calls of pow"),
        (MOE, MOE | {"activation": "relu"}, "calls of relu"),
        ({}, {"loss_chunk": 8}, "rows of logits at a time"),
        ({"loss_chunk": 16}, {"loss_chunk": 8}, "rows of logits at a time"),
        ({}, WINDOWS, "queries of a call of attention"),
        (WINDOWS, {}, "queries of a call of attention"),
        ({**WINDOWS, **MANUAL}, MANUAL, "queries of a call of attention"),
        ({"attention": "sliding", "window": 8}, {}, "queries of a call of attention"),
        ({"attention": "sliding", "window": 16}, WINDOWS, "queries of a call of attention"),
        ({"activation_checkpointing": True}, {"activation": "relu"}, "calls of relu"),
        ({"dropout": 0.2, **MANUAL}, {"dropout": 0.1, **MANUAL}, "share that is dropped"),
        (COMPILED, {"n_layer": 1, **WINDOWS}, "queries of a call of attention"),
    ],
)
def test_another_model_than_was_asked_for_is_not_in_force(ran, claimed, named):
    experiment = BASE.but(**ran)
    evidence = of_second_pass(experiment)
    require(executed.checks(experiment, evidence))
    with pytest.raises(NotInForce, match=named):
        require(executed.checks(BASE.but(**claimed), evidence))


def test_compiled_code_has_only_attention_to_look_at():
    experiment = BASE.but(compile="aot_eager", n_layer=1)
    evidence = of_second_pass(experiment)
    assert (evidence.logit_rows, evidence.dropped, evidence.queries) == (None, None, 32)
    require(executed.checks(experiment.but(activation="relu"), evidence))
