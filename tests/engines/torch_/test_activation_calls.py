"""Any line of `experiment.activations` is told from the others by the operators that it calls."""

import functools

import pytest
from made_engine import build, make_batch
from settled import SMALL

torch = pytest.importorskip("torch")
from cputrain.engines.torch_ import activation_calls, executed  # noqa: E402
from cputrain.engines.torch_.schema import ACTIVATION  # noqa: E402
from cputrain.experiment.activations import ACTIVATIONS  # noqa: E402
from cputrain.knobs.inforce import NotInForce, require  # noqa: E402

LINES = {
    "mish": lambda F, x: F.mish(x),
    "relu6": lambda F, x: F.relu6(x),
    "selu": lambda F, x: F.selu(x),
    "leaky relu": lambda F, x: F.leaky_relu(x, 0.1),
    "softsign": lambda F, x: F.softsign(x),
    "clamp": lambda F, x: x.clamp(min=0),
    "gated tanh": lambda F, x, gate: x * gate.tanh(),
}
CALLED = {"relu6": ["relu6"], "selu": ["selu"], "softsign": ["abs", "add", "div"]}
"""Of lines whose operators call others, or whose function is written in Python."""
CHECKPOINTED = {"activation_checkpointing": True, "fine_tuning": "lora"}


@pytest.fixture(params=LINES)
def line(request, monkeypatch):
    monkeypatch.setitem(ACTIVATIONS, request.param, LINES[request.param])
    return request.param


def shown(experiment):
    return build(experiment).evidence(make_batch(experiment))


@functools.cache
def shown_of(shipped):
    return shown(SMALL.but(activation=shipped))


def test_a_line_is_known_by_what_it_calls_itself(line):
    names = {name.removeprefix(f"{ACTIVATION}aten::") for name in activation_calls.of_line(line)}
    assert names == {*CALLED.get(line, names)} and names


def test_a_line_that_ran_is_in_force_and_no_other_is(line):
    experiment = SMALL.but(activation=line)
    its = shown(experiment)
    require(executed.checks(experiment, its))
    for other in ("gelu", "swiglu", "relu2"):
        with pytest.raises(NotInForce, match="calls of"):
            require(executed.activation(experiment, shown_of(other).ops))
        with pytest.raises(NotInForce, match="calls of"):
            require(executed.activation(experiment.but(activation=other), its.ops))


@pytest.mark.parametrize(
    "changes",
    [{"precision": "mixed"}, {"precision": "q8"}, {"architecture": "moe"}, CHECKPOINTED],
    ids=str,
)
def test_a_line_is_in_force_in_other_models_too(changes, monkeypatch):
    monkeypatch.setitem(ACTIVATIONS, "new", LINES["gated tanh"])
    experiment = SMALL.but(activation="new", **changes)
    require(executed.checks(experiment, shown(experiment)))


def test_one_block_with_another_activation_is_not_in_force():
    engine = build(SMALL)
    engine.module.h[1].mlp.activation = ACTIVATIONS["silu"]
    with pytest.raises(NotInForce, match="calls of gelu: asked for >= 2, found 1"):
        require(executed.checks(SMALL, engine.evidence(make_batch(SMALL))))


def test_marks_are_gone_after_a_look_and_a_compiled_model_has_none():
    model = build(SMALL).module
    with activation_calls.marked(model, hidden=False):
        assert all(block.mlp.activation is not ACTIVATIONS["gelu"] for block in model.h)
    assert all(block.mlp.activation is ACTIVATIONS["gelu"] for block in model.h)
    with activation_calls.marked(model, hidden=True):
        assert all(block.mlp.activation is ACTIVATIONS["gelu"] for block in model.h)
