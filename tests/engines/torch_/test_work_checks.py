"""A step that does another work than was asked for, or updates otherwise, is not in force."""

import functools
from contextlib import nullcontext

import pytest
from made_engine import DROPS, SLOW_KERNEL, build, make_batch
from settled import SMALL

torch = pytest.importorskip("torch")
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from cputrain.engines.torch_ import attention, executed, optimizers  # noqa: E402
from cputrain.engines.torch_.long_run import LongRun  # noqa: E402
from cputrain.knobs.inforce import NotInForce, require  # noqa: E402

BASE = SMALL.but(seq_len=32)
SLIDING = {"attention": "sliding", "window": 8}
LOCAL = {"attention": "local", "window": 8}
MANUAL = {"attention_backend": "manual"}
COMPILED = {"compile": "aot_eager"}
AGAIN = {"activation_checkpointing": True}
WORK = "operations of matrix products in a micro-batch"


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def attend(blocks=slice(None), **attributes):
    """Another attention in some of the blocks."""

    def alter(engine):
        for block in engine._model.h[blocks]:
            for name, value in attributes.items():
                setattr(block.attn, name, value)

    return alter


def slide(engine):
    attend(local=False)(engine)
    for block in engine._model.h:
        block.attn.register_buffer("outside", attention.outside_scores(8), persistent=False)


def first_row(engine):
    whole = engine._model.forward
    engine._model.forward = lambda ids, targets, *others: whole(ids[:1], targets[:1], *others)


def again(engine):
    """Checkpoint the first block alone."""
    model = engine._model
    model.checkpointed, run, first = False, model._block, model.h[0]
    twice = functools.partial(checkpoint, run, use_reentrant=False)
    model._block = lambda block, x: (twice if block is first else run)(block, x)


ALL_LOCAL = {"window": 8, "local": True}
WORKS = {
    "sliding, all local": (SLIDING, attend(local=True)),
    "sliding by hand, all local": ({**SLIDING, **MANUAL}, attend(local=True)),
    "local, all sliding": (LOCAL, slide),
    "local, half of the layers full": (LOCAL, attend(slice(1), window=None)),
    "local, half of the layers narrower": (LOCAL, attend(slice(1), window=4)),
    "full, half of the layers local": ({}, attend(slice(1), **ALL_LOCAL)),
    "compiled, half of the layers local": (COMPILED, attend(slice(1), **ALL_LOCAL)),
    "one row of the batch": ({}, first_row),
    "compiled, the first block computed again": ({**COMPILED, "n_layer": 3}, again),
    "compiled, one block computed again": ({**COMPILED, **AGAIN, "n_layer": 3}, again),
}


def refused(experiment, alter, named, before=nullcontext):
    engine, batch = build(experiment), make_batch(experiment)
    alter(engine)
    with before():
        engine.train_step(batch)
        evidence = engine.evidence(batch)
    checks = executed.checks(experiment, evidence)
    assert named in [check.name for check in checks if not check.ok]
    with pytest.raises(NotInForce):
        require(checks)


@pytest.mark.parametrize("name", WORKS)
def test_other_work_is_not_in_force(name):
    changes, alter = WORKS[name]
    refused(BASE.but(**changes), alter, WORK)


def test_masked_attention_without_the_fused_kernel_is_not_in_force(monkeypatch):
    fused = attention.fused

    def by_math(q, k, v, mask, causal):
        with sdpa_kernel(SDPBackend.MATH) if mask is not None else nullcontext():
            return fused(q, k, v, mask, causal)

    monkeypatch.setattr(attention, "fused", by_math)
    refused(BASE.but(**SLIDING), lambda _: None, "fused attention kernels")


@pytest.mark.parametrize("changes", [{}, COMPILED, {**LOCAL, "n_kv_head": 1}], ids=str)
def test_other_heads_of_the_fused_kernel_are_not_in_force(changes):
    alter = attend(d_head=8)
    refused(BASE.but(**changes), alter, "heads of queries and keys")


@pytest.mark.parametrize("changes", [{}, COMPILED, SLIDING], ids=str)
def test_other_heads_by_hand_are_not_in_force(changes):
    refused(BASE.but(**changes, **MANUAL), attend(d_head=8), "products of attention at a time")


def test_blocks_of_which_some_are_computed_again_are_not_in_force():
    for changes in ({}, AGAIN, {**DROPS, **AGAIN}):
        refused(BASE.but(**changes), again, "forward passes of each block")


def other_optimizer(**changes):
    def alter(engine):
        experiment = engine._experiment.but(**changes)
        engine.optimizer = optimizers.make(experiment, engine.trained.values())

    return alter


def setting(**values):
    return lambda engine: engine.optimizer.param_groups[0].update(values)


def without_a_tensor(engine):
    engine.optimizer.param_groups[0]["params"].pop()


def with_a_tensor_twice(engine):
    tensors = engine.optimizer.param_groups[0]["params"]
    tensors[-1] = tensors[0]


def a_second_group(engine):
    (group,) = engine.optimizer.param_groups
    engine.optimizer.param_groups.append({**group, "params": [group["params"].pop()], "lr": 0.5})


def fused_for_small_ones(engine):
    own, group = engine.optimizer._update, engine.optimizer.param_groups[0]

    def update(parameters, _):
        for parameter in parameters:
            own([parameter], {**group, "fused": parameter.numel() <= 64})

    engine.optimizer._update = update


LION = {"optimizer": "lion", **SLOW_KERNEL}
FACTOR = {"optimizer": "adafactor", "optimizer_kernel": "foreach"}
ADAM = {"optimizer": "adamw"}
OPTIMIZERS = {
    "adamw is sgd": ({}, other_optimizer(optimizer="sgd"), "optimizer"),
    "sgd is adamw": ({"optimizer": "sgd"}, other_optimizer(**ADAM), "optimizer"),
    "lion is adamw": (LION, other_optimizer(**ADAM), "optimizer"),
    "lion keeps too much": (LION, other_optimizer(**ADAM), "bytes of the optimizer"),
    "adafactor is adamw": (FACTOR, other_optimizer(**ADAM), "bytes of the optimizer"),
    "rate": ({}, setting(lr=0.01), "learning rate in the optimizer"),
    "decay": ({}, setting(weight_decay=0.0), "weight decay in the optimizer"),
    "betas": ({}, setting(betas=(0.9, 0.999)), "betas in the optimizer"),
    "betas of lion": (LION, setting(betas=(0.9, 0.99)), "betas in the optimizer"),
    "epsilon": ({}, setting(eps=1e-6), "epsilon in the optimizer"),
    "kernel said": ({}, setting(fused=False), "kernel in the optimizer"),
    "kernel of large ones": ({}, fused_for_small_ones, "optimizer kernel"),
    "one tensor less": ({}, without_a_tensor, "tensors of the optimizer"),
    "one twice": ({}, with_a_tensor_twice, "trained tensors that the optimizer has once"),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_another_optimizer_is_not_in_force(name):
    changes, alter, named = OPTIMIZERS[name]
    refused(BASE.but(n_layer=1, **changes), alter, named)


def test_the_rate_is_that_of_the_last_update(monkeypatch):
    experiment = BASE.but(n_layer=1, lr_warmup_steps=4)
    engine, batch = build(experiment), make_batch(experiment)
    for _ in range(6):
        require(executed.checks(experiment, engine.evidence(batch)))
        engine.train_step(batch)
    monkeypatch.setattr(optimizers, "set_rate", lambda *_: None)
    refused(experiment, lambda _: None, "learning rate in the optimizer")


def test_a_long_run_has_a_rate_of_its_own():
    experiment = BASE.but(n_layer=1)
    engine, batch = build(experiment), make_batch(experiment)
    LongRun(engine, clip=None).set_rate(0.125)
    engine.train_step(batch)
    evidence = engine.evidence(batch)
    require(executed.checks(experiment, evidence))
    assert evidence.optimizer.learning_rate == [0.125]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "mixed", "q8_torchao"])
@pytest.mark.parametrize("kind", [ADAM, {"optimizer": "sgd"}, LION, FACTOR], ids=str)
@pytest.mark.parametrize("tuning", ["scratch", "lora"])
def test_right_optimizers_are_in_force(precision, kind, tuning):
    if tuning == "lora" and precision == "q8_torchao":
        pytest.skip("refused")
    experiment = BASE.but(n_layer=1, precision=precision, fine_tuning=tuning, **kind)
    engine, batch = build(experiment), make_batch(experiment)
    engine.train_step(batch)
    evidence = engine.evidence(batch)
    require(executed.checks(experiment, evidence))
    assert evidence.optimizer.state_bytes == engine.state_bytes()
