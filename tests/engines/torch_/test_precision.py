"""Every precision trains, with every weight; what does not is caught."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from made_model import batch, make
from made_precision import ROUNDED, TORCHAO, arrays, prepared, setting, step
from settled import SMALL
from torch import nn

from cputrain.engines.torch_ import precision
from cputrain.engines.torch_.linear import layers_of
from cputrain.errors import DidNotTrain
from cputrain.experiment.parts import PRECISIONS, SIMULATED
from cputrain.machine import isa
from cputrain.model import bf16
from cputrain.worker import gates


@pytest.mark.parametrize("name", PRECISIONS)
def test_it_learns_a_batch_by_heart_with_every_weight(name):
    """40 steps at the usual learning rate move every weight, and then a higher one learns."""
    experiment = setting(name, n_layer=1)
    made, parts = prepared(experiment), batch(experiment, ignored=0)
    start = arrays(made)
    optimizer = torch.optim.AdamW(made.parameters(), lr=3e-4, weight_decay=0.1, fused=True)
    losses = [step(made, experiment, parts)]
    gates.gradients({n: precision.to_numpy(p.grad) for n, p in made.named_parameters()}, start)
    assert all(p.grad.dtype == p.dtype for p in made.parameters())
    for _ in range(40):
        optimizer.step()
        optimizer.zero_grad()
        step(made, experiment, parts)
    excused = bf16.excused(experiment, start)
    assert gates.moved(start, arrays(made), excused) == len(start) - len(excused)
    norms = {n for n in start if "ln_" in n and n.endswith(".weight")}
    assert set(excused) == (norms if name == "bf16" else set())
    state = {value.dtype for s in optimizer.state.values() for k, value in s.items() if k != "step"}
    assert state == {torch.bfloat16 if name == "bf16" else torch.float32}
    optimizer.param_groups[0]["lr"] = 0.01
    for _ in range(50):
        optimizer.step()
        optimizer.zero_grad()
        losses.append(step(made, experiment, parts))
    assert losses[-1] < 0.5 * losses[0]


def test_embeddings_head_and_norms_stay_as_they_are():
    for name in ROUNDED:
        experiment = setting(name, tied=False)
        made = prepared(experiment)
        rounded = {id(layer.weight) for layer in layers_of(made)}
        rest = {n: p for n, p in made.named_parameters() if id(p) not in rounded}
        assert {"wte", "wpe", "head.weight", "ln_f.weight", "h.0.ln_1.weight"} <= rest.keys()
        assert all(type(p) is nn.Parameter and p.dtype == torch.float32 for p in rest.values())


def test_a_layer_without_a_gradient_is_caught():
    experiment = setting("q8", n_layer=1)
    made = prepared(experiment)
    made.h[0].mlp.fc.weight.requires_grad_(False)
    step(made, experiment, batch(experiment))
    gradients = {
        n: precision.to_numpy(p.grad) for n, p in made.named_parameters() if p.grad is not None
    }
    with pytest.raises(DidNotTrain, match=r"h\.0\.mlp\.fc\.weight gets no gradient"):
        gates.gradients(gradients, arrays(made))


@pytest.mark.parametrize("name", PRECISIONS)
def test_weights_are_read_and_put_back_as_float32_copies(name):
    experiment = setting(name)
    made, parts = prepared(experiment), batch(experiment)
    taken = arrays(made)
    assert all(array.dtype == np.float32 for array in taken.values())
    loss = step(made, experiment, parts)
    for parameter in made.parameters():
        precision.load(parameter, np.full(parameter.shape, 0.5, np.float32))
    assert all((array == 0.5).all() for array in arrays(made).values())
    assert not (taken["wte"] == 0.5).any()
    for n, parameter in made.named_parameters():
        precision.load(parameter, taken[n])
    assert step(made, experiment, parts) == loss


@pytest.mark.parametrize("name", TORCHAO)
def test_what_is_frozen_stays_frozen(name):
    experiment = setting(name)
    made = make(experiment)
    made.requires_grad_(False)
    precision.prepare(made, experiment)
    assert not any(p.requires_grad for p in made.parameters())


def test_bf16_moves_a_weight_only_by_more_than_half_its_rounding_step():
    """Against torch's own rounding: the largest update is subtracted from and added to each."""
    experiment = SMALL.but(precision="bf16", learning_rate=3e-4, weight_decay=0.1)
    for start in (1e-3, 0.02, 0.0625, 0.13, 0.15, 0.16, 0.25, 0.26, 0.5, 1.0, 1.5, 3.0):
        value = torch.tensor(start).bfloat16()
        update = 3e-4 * (1 + 0.1 * value.item())
        moves = any((value.float() + sign * update).bfloat16() != value for sign in (-1, 1))
        array = np.full(3, value.item(), np.float32)
        assert (bf16.may_not_move(experiment, array) is None) == moves, start
        array[0] = 0  # one entry that can move is enough
        assert bf16.may_not_move(experiment, array) is None
    ones = np.ones(3, np.float32)
    assert "rounding step at 1, 2.0e-03" in bf16.may_not_move(experiment, ones)
    assert bf16.may_not_move(experiment.but(learning_rate=0.01), ones) is None
    assert bf16.may_not_move(experiment.but(precision="mixed"), ones) is None


def test_what_is_simulated_says_so():
    assert SIMULATED.keys() <= set(PRECISIONS)
    assert all("simulated" in text and "fp32" in text for text in SIMULATED.values())


WITHOUT_VNNI = """
import sys
from made_model import make
from settled import SMALL
from cputrain.engines import EngineError
from cputrain.engines.torch_ import in_precision, precision
def prepare(*names):
    for name in names:
        try:
            precision.prepare(make(SMALL.but(precision=name)), SMALL.but(precision=name))
            print(name, "is exact")
        except EngineError as error:
            print(error)
print(precision.readings())
prepare("fp32", "bf16", "mixed", "q8", "q4", "bitnet")
print("torchao" in sys.modules)
prepare("bitnet_torchao", "q8_torchao")
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="oneDNN's limit is for x86")
def test_without_vnni_own_int8_is_exact_and_torchaos_is_refused():
    """Pairs of products saturate at 16 bits there; torch says nothing.

    And torchao is imported for its own precisions alone.
    """
    pytest.importorskip("torchao")
    if (reason := isa.why_not("avx512")) is not None:
        pytest.skip(f"torch takes the kernel that saturates on CPUs with AVX-512 alone: {reason}")
    env = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_VNNI]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "{'mkldnn_bf16': False}"
    own = ("fp32", "bf16", "mixed", "q8", "q4", "bitnet")
    assert lines[1:7] == [f"{name} is exact" for name in own]
    assert lines[7:9] == ["False", "bitnet_torchao is exact"]
    assert lines[9].startswith("precision = 'q8_torchao': torch._int_mm gives wrong sums")
