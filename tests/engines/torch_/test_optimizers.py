"""The optimizers against their published formulas, and the kernels that they run on."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made_engine import SLOW_KERNEL, build, make_batch
from settled import SMALL, settled

from cputrain import paths
from cputrain.engines import EngineError

torch = pytest.importorskip("torch")

from cputrain.engines.torch_ import optimizers  # noqa: E402
from cputrain.engines.torch_.evidence import optimizer_kernel, profiled  # noqa: E402
from cputrain.report import paste  # noqa: E402

BASE = settled(learning_rate=0.02, weight_decay=0.3, beta1=0.8, beta2=0.95, eps=1e-3)
SHAPES = [(5, 7), (7,), (1,)]
COMBINATIONS = [
    ("adamw", "default"),
    ("adamw", "foreach"),
    ("adamw", "fused"),
    ("sgd", "default"),
    ("sgd", "foreach"),
    ("sgd", "fused"),
    ("lion", "default"),
    ("adafactor", "default"),
    ("adafactor", "foreach"),
]


def adamw(t, x, g, state, rate, n):
    """Loshchilov & Hutter 2019, alg. 2, with the schedule multiplier in the rate."""
    state["m"] = t.beta1 * state.get("m", 0) + (1 - t.beta1) * g
    state["v"] = t.beta2 * state.get("v", 0) + (1 - t.beta2) * g**2
    m, v = state["m"] / (1 - t.beta1**n), state["v"] / (1 - t.beta2**n)
    return x - rate * (m / (np.sqrt(v) + t.eps) + t.weight_decay * x)


def sgd(t, x, g, state, rate, n):
    return x - rate * (g + t.weight_decay * x)


def lion(t, x, g, state, rate, n):
    """Chen et al. 2023, alg. 2."""
    m = state.get("m", 0)
    update = np.sign(t.beta1 * m + (1 - t.beta1) * g)
    state["m"] = t.beta2 * m + (1 - t.beta2) * g
    return x - rate * (update + t.weight_decay * x)


def adafactor(t, x, g, state, rate, n):
    """Shazeer & Stern 2018, alg. 4 and 5, with torch's epsilons and greatest relative step."""
    rms = lambda a: math.sqrt((a**2).mean())  # noqa: E731
    keep = 1 - n**-0.8
    size = max(1e-3, rms(x)) * min(rate, 1 / math.sqrt(n))
    x = x * (1 - rate * t.weight_decay)
    if g.ndim == 2:
        state["r"] = keep * state.get("r", 0) + (1 - keep) * (g**2).mean(1, keepdims=True)
        state["c"] = keep * state.get("c", 0) + (1 - keep) * (g**2).mean(0, keepdims=True)
        v = state["r"] * state["c"] / state["r"].mean()
    else:
        v = state["v"] = keep * state.get("v", 0) + (1 - keep) * g**2
    u = g / np.sqrt(v)
    return x - size * u / max(1, rms(u))


FORMULAS = {"adamw": adamw, "sgd": sgd, "lion": lion, "adafactor": adafactor}


def parameters(seed=0):
    rng = np.random.default_rng(seed)
    values = [rng.standard_normal(shape) for shape in SHAPES]
    return values, [torch.nn.Parameter(torch.tensor(v, dtype=torch.float32)) for v in values]


@pytest.mark.parametrize(("name", "kernel"), COMBINATIONS)
@pytest.mark.parametrize("warm_up", [0, 3])
def test_five_steps_follow_the_formula(name, kernel, warm_up):
    experiment = BASE.but(optimizer=name, optimizer_kernel=kernel, lr_warmup_steps=warm_up)
    training = experiment.training
    expected, mine = parameters()
    optimizer = optimizers.make(experiment, mine)
    states = [{} for _ in expected]
    rng = np.random.default_rng(1)
    for n in range(1, 6):
        rate = 0.02 * (min(1, n / warm_up) if warm_up else 1)
        optimizers.set_rate(optimizer, training, n)
        for i, parameter in enumerate(mine):
            g = rng.standard_normal(parameter.shape)
            parameter.grad = torch.tensor(g, dtype=torch.float32)
            expected[i] = FORMULAS[name](training, expected[i], g, states[i], rate, n)
        optimizer.step()
        assert optimizers.steps_done(optimizer) == n
    for right, parameter in zip(expected, mine, strict=True):
        assert np.abs(parameter.detach().numpy() - right).max() < 1e-5


@pytest.mark.parametrize("kernel", ["default", "foreach", "fused"])
@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_updates_are_those_of_the_class_of_torch_to_the_bit(name, kernel):
    """And so is what it keeps, where the class keeps anything."""
    experiment = BASE.but(optimizer=name, optimizer_kernel=kernel)
    (_, mine), (_, theirs) = parameters(), parameters()
    own = optimizers.make(experiment, mine)
    arguments = optimizers.adamw_arguments(experiment)
    if name == "adamw":
        other = torch.optim.AdamW(theirs, **arguments)
    else:
        chosen = {k: v for k, v in arguments.items() if k not in ("betas", "eps")}
        other = torch.optim.SGD(theirs, **chosen)
    for n in range(1, 8):
        for optimizer, tensors in ((own, mine), (other, theirs)):
            optimizers.set_rate(optimizer, experiment.training, n)
            for tensor in tensors:
                tensor.grad = torch.sin(tensor.detach() * n)
            optimizer.step()
            optimizer.zero_grad()
            assert all(tensor.grad is None for tensor in tensors)
    for ours, of_class in zip(mine, theirs, strict=True):
        assert torch.equal(ours, of_class)
        for key, value in other.state.get(of_class, {}).items():
            assert torch.equal(own.state[ours][key], value), key


EAGERLY = """
import sys
from made_engine import build, make_batch
from settled import SMALL
experiment = SMALL.but(**{changes})
engine, batch = build(experiment), make_batch(experiment)
engine.loss(batch)
for _ in range(2):
    engine.train_step(batch)
engine.looked(batch)
print(*(name for name in ("torch._dynamo", "torch._inductor") if name in sys.modules))
"""


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"precision": "bf16"},
        {"optimizer": "sgd", "grad_accum": 2},
        {"optimizer": "lion", "optimizer_kernel": "default", "n_kv_head": 1},
    ],
    ids=["adamw", "bf16", "sgd", "lion"],
)
def test_an_eager_step_does_without_the_compiler(changes):
    """To import it takes a worker as long again as torch does."""
    folders = [str(Path(__file__).parents[2]), str(Path(__file__).parent), str(paths.PROJECT)]
    command = [sys.executable, "-c", EAGERLY.replace("{changes}", repr(changes))]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stderr[-2000:]


@pytest.mark.parametrize(("name", "kernel"), COMBINATIONS)
def test_the_kernel_that_ran_is_seen(name, kernel):
    """In a step of all tensors, and in that of one of them, which changes nothing."""
    experiment = BASE.but(optimizer=name, optimizer_kernel=kernel)
    _, mine = parameters()
    optimizer = optimizers.make(experiment, mine)
    for parameter in mine:
        parameter.grad = torch.ones_like(parameter)
    with profiled() as profile:
        optimizer.step()
    assert optimizer_kernel(profile) == kernel
    optimizer.zero_grad()
    with profiled() as profile:
        optimizers.step_single_tensors(optimizer)
    assert optimizer_kernel(profile) == kernel
    with profiled() as profile:
        torch.ones(3).add_(1)
    assert optimizer_kernel(profile) is None


@pytest.mark.parametrize(("name", "kernel"), COMBINATIONS)
@pytest.mark.parametrize("before", [0, 2])
def test_stepping_one_tensor_changes_nothing(name, kernel, before):
    results = []
    for look in (False, True):
        _, mine = parameters()
        optimizer = optimizers.make(BASE.but(optimizer=name, optimizer_kernel=kernel), mine)
        for n in range(before + 2):
            if look and n == before:
                optimizers.step_single_tensors(optimizer)
                assert optimizers.steps_done(optimizer) == before
                assert all(parameter.grad is None for parameter in mine)
            for parameter in mine:
                parameter.grad = torch.sin(parameter.detach() + n)
            optimizer.step()
            optimizer.zero_grad()
        results.append(mine)
    for looked, plain in zip(*results, strict=True):
        assert torch.equal(looked, plain)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("adamw", 2 * 43), ("sgd", 0), ("lion", 43), ("adafactor", 5 + 7 + 8)],
)
def test_bytes_of_state(name, numbers):
    _, mine = parameters()
    optimizer = optimizers.make(BASE.but(optimizer=name, **SLOW_KERNEL), mine)
    assert optimizers.state_bytes(optimizer) == 0
    for parameter in mine:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    assert optimizers.state_bytes(optimizer) == 4 * numbers


def test_a_tensor_that_gets_no_gradient_holds_the_count_back():
    for name in ("adamw", "sgd", "lion"):
        _, mine = parameters()
        optimizer = optimizers.make(BASE.but(optimizer=name, **SLOW_KERNEL), mine)
        mine[0].grad = torch.ones_like(mine[0])
        optimizer.step()
        assert optimizers.steps_done(optimizer) == 0


def test_growth_of_the_learning_rate():
    training = BASE.but(learning_rate=0.5, lr_warmup_steps=4).training
    rates = [optimizers.rate_at(training, step) for step in range(1, 7)]
    assert rates == [0.125, 0.25, 0.375, 0.5, 0.5, 0.5]
    assert optimizers.rate_at(BASE.training, 1) == 0.02


@pytest.mark.parametrize(("name", "kernel"), COMBINATIONS)
def test_each_trains_a_model(name, kernel):
    rate = {"adamw": 0.01, "sgd": 1.0, "lion": 0.003, "adafactor": 0.3}[name]
    changes = {"optimizer": name, "optimizer_kernel": kernel, "learning_rate": rate}
    engine = build(SMALL.but(n_layer=1, **changes))
    batch = make_batch(SMALL)
    losses = [engine.train_step(batch) for _ in range(30)]
    assert losses[-1] < 0.9 * losses[0]
    assert engine.steps_done == 30
    evidence = engine.evidence(batch)
    assert evidence.optimizer_kernel == kernel
    assert engine.steps_done == 30


def test_warm_up_reaches_the_optimizer():
    """AdamW's first update of each weight is the learning rate, but for its epsilon."""
    for warm_up, share in ((0, 1), (10, 0.1)):
        engine = build(SMALL.but(learning_rate=1e-3, weight_decay=0.0, lr_warmup_steps=warm_up))
        before = engine.weights()["wpe"]
        engine.train_step(make_batch(SMALL))
        moved = np.abs(engine.weights()["wpe"] - before)
        assert np.median(moved) == pytest.approx(1e-3 * share, rel=0.01)


def test_an_update_of_nothing_is_refused():
    with pytest.raises(EngineError, match="accumulate some before"):
        build(SMALL).update()


@pytest.mark.parametrize(("name", "kernel"), COMBINATIONS)
def test_the_line_to_paste_is_a_call_of_the_same_optimizer(name, kernel):
    line = paste.optimizer(name, kernel)
    if line is None:
        assert not hasattr(torch.optim, name.capitalize())
        return
    weights = [torch.ones(5, 7, requires_grad=True) for _ in range(2)]
    t = BASE.but(optimizer=name, optimizer_kernel=kernel)
    pasted = eval(line.replace("...", "weights[:1], lr=0.02, weight_decay=0.3"))
    if name == "adamw":
        pasted.param_groups[0].update(betas=(0.8, 0.95), eps=1e-3)
    weights[0].grad, weights[1].grad = torch.full((5, 7), 0.5), torch.full((5, 7), 0.5)
    with profiled() as profile:
        pasted.step()
    optimizers.make(t, weights[1:]).step()
    assert torch.equal(*weights)
    assert optimizer_kernel(profile) == kernel
