"""lstm, gmlp, ssm and moe on paper: sizes, parameters, first values, what is kept."""

import subprocess
import sys

import numpy as np
import pytest
from settled import settled

from cputrain.model import flops, gmlp, initial, kept, lstm, moe, shapes, ssm
from cputrain.model.shapes import n_params
from cputrain.model.widths import gpt_block, nearest

BASE = settled()
ARCHITECTURES = {
    "gpt": BASE,
    "llama": BASE.but(architecture="llama", activation="swiglu"),
    "bert": BASE.but(architecture="bert", objective="masked", vocab_size=258),
    "lstm": BASE.but(architecture="lstm"),
    "gmlp": BASE.but(architecture="gmlp"),
    "ssm": BASE.but(architecture="ssm"),
    "moe": BASE.but(architecture="moe"),
}
OTHERS = {"lstm": lstm, "gmlp": gmlp, "ssm": ssm, "moe": moe}


def test_needs_the_standard_library_only():
    code = (
        "import sys; from cputrain.model import gmlp, lstm, moe, ssm;"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_baselines_parameters_are_matched_within_5_percent(name):
    assert n_params(ARCHITECTURES[name]) == pytest.approx(n_params(BASE), rel=0.05)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("lstm", 4 * 312 * (256 + 312 + 1) + 256 * (312 + 1) + 2 * 256),
        ("gmlp", 1856 * 257 + 2 * 928 + 256 * 256 + 256 + 256 * 929 + 2 * 256),
        ("ssm", (2 * 960 + 128 + 15) * 256 + 1088 * 5 + 3 * 15 + 960 + 256 * 960 + 2 * 256),
        ("moe", 4 * 256 + 1024 * 257 + 4 * 256 + 4 * (256 * 257 + 256 * 257)),
    ],
)
def test_parameters_by_hand(name, count):
    experiment = ARCHITECTURES[name]
    positions = 256 * 256 if name == "moe" else 0
    assert n_params(experiment) == 257 * 256 + positions + 4 * count + 2 * 256


def test_the_gpt_block_that_is_matched():
    assert 4 * gpt_block(BASE) == n_params(BASE) - 257 * 256 - 256 * 256 - 2 * 256
    assert gpt_block(BASE.but(mlp_ratio=2)) < gpt_block(BASE)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("changes", [{"n_embd": 512, "n_head": 8}, {"mlp_ratio": 2}], ids=str)
def test_other_sizes_are_matched_too(name, changes):
    """Positions apart: gmlp's mixing weight is reckoned for seq_len = n_embd."""
    base = BASE.but(**changes)
    experiment = base.but(architecture=name, seq_len=base.model.n_embd)
    block = n_params(experiment.but(n_layer=2)) - n_params(experiment.but(n_layer=1))
    assert block == pytest.approx(gpt_block(base), rel=0.06)


@pytest.mark.parametrize("name", ["lstm", "gmlp", "ssm"])
def test_seq_len_leaves_the_width_alone(name):
    experiment = ARCHITECTURES[name]
    longer = experiment.but(seq_len=1024)
    names = [n for n in shapes.weight_shapes(experiment) if "spatial" not in n]
    both = [shapes.weight_shapes(e) for e in (experiment, longer)]
    assert [both[0][n] for n in names] == [both[1][n] for n in names]


def test_nearest():
    assert [nearest(n, lambda w: w * w, 8) for n in (1, 64, 150, 170, 256)] == [8, 8, 8, 16, 16]


def test_nearest_is_the_one_of_all_and_found_by_halving():
    for n in range(1, 1500):
        best = min(range(8, 64, 8), key=lambda w, n=n: (abs(w * w - n), w))
        assert nearest(n, lambda w: w * w, 8) == best
    asked = []
    assert nearest(10**12, lambda w: asked.append(w) or w * w, 8) == 10**6
    assert len(asked) < 60


def test_products_of_a_block_by_hand():
    """Forward, of one sequence of 256: gmlp's spatial product; the scan's, chunk by chunk."""
    assert gmlp.mixing_flops(ARCHITECTURES["gmlp"]) == 2 * 256 * 256 * 928
    pairs = 4 * (64 * 64 * 64 + 64 * 64 * 960)
    states = 4 * (2 * 64 * 64 * 960) + 4 * 4 * 64 * 960
    assert ssm.mixing_flops(ARCHITECTURES["ssm"]) == 2 * (pairs + states)
    assert lstm.mixing_flops(ARCHITECTURES["lstm"]) == 0


def test_an_expert_multiplies_half_of_the_tokens():
    gpt, experts = (flops.flops_per_step(ARCHITECTURES[name]) for name in ("gpt", "moe"))
    saved = 4 * 6 * 256 * (2 * 1024 * 256 // 2 - 4 * 256)  # half of the MLPs, less the routers
    assert experts.matmul == gpt.matmul - saved
    assert experts.attention == gpt.attention


def first(name):
    experiment = ARCHITECTURES[name].but(n_layer=1)
    weights = initial.initial_weights(experiment)
    assert {n: w.shape for n, w in weights.items()} == shapes.weight_shapes(experiment)
    assert {w.dtype for w in weights.values()} == {np.dtype(np.float32)}
    return {n.removeprefix("h.0."): w for n, w in weights.items() if n.startswith("h.0.")}


def test_first_values_of_the_lstm():
    weights = first("lstm")
    assert (weights["lstm.bias"][312:624] == 1).all()
    assert weights["lstm.bias"].sum() == 312
    for name in ("lstm.input.weight", "lstm.recurrent.weight"):
        assert np.abs(weights[name]).max() == pytest.approx(312**-0.5, rel=0.01)
    assert weights["proj.weight"].std() == pytest.approx(0.02 / 2**0.5, rel=0.02)


def test_first_values_of_gmlp():
    weights = first("gmlp")
    assert (weights["spatial.bias"] == 1).all()
    assert weights["spatial.weight"].std() == pytest.approx(1e-3, rel=0.02)
    assert weights["fc.weight"].std() == pytest.approx(0.02, rel=0.02)


def test_first_values_of_the_ssm():
    weights = first("ssm")
    decay = np.exp(weights["a_log"])
    assert 1 <= decay.min() < decay.max() <= 16
    dt = np.log1p(np.exp(weights["dt_bias"].astype(float)))
    assert 0.001 <= dt.min() < dt.max() <= 0.1
    assert (weights["skip"] == 1).all()
    assert np.abs(weights["conv.weight"]).max() == pytest.approx(0.5, rel=0.01)
    assert (weights["ln_gate.weight"] == 1).all()
    assert weights["fc.weight"].std() == pytest.approx(0.02, rel=0.02)


def test_first_values_of_moe():
    weights = first("moe")
    assert weights["mlp.router"].std() == pytest.approx(0.02, rel=0.1)
    experts = [weights[f"mlp.experts.{i}.fc.weight"] for i in range(4)]
    assert not np.array_equal(experts[0], experts[1])


def held(experiment):
    """Numbers that the real model keeps for the backward pass, weights left out."""
    torch = pytest.importorskip("torch")
    from cputrain.engines.torch_ import model

    with torch.device("meta"):
        made = model.build(experiment)
    made.load_state_dict(
        {n: torch.from_numpy(w) for n, w in initial.initial_weights(experiment).items()},
        assign=True,
    )
    weights = {p.untyped_storage().data_ptr() for p in made.parameters()}
    kept_bytes, alive = {}, []

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept_bytes[storage.data_ptr()] = storage.nbytes()
            alive.append(storage)  # or another tensor would get the same address
        return tensor

    shape = (experiment.training.batch_size, experiment.training.seq_len)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        made(torch.randint(0, 257, shape), torch.randint(0, 257, shape))
    return sum(kept_bytes.values()) / 4


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("changes", [{}, {"batch_size": 2, "seq_len": 400, "n_embd": 128}], ids=str)
def test_what_a_block_keeps_is_estimated(name, changes):
    experiment = ARCHITECTURES[name].but(**changes)
    one_layer, two_layers = (held(experiment.but(n_layer=n)) for n in (1, 2))
    assert OTHERS[name].kept(experiment) == pytest.approx(two_layers - one_layer, rel=0.06)


@pytest.mark.parametrize(
    "changes",
    [
        {"attention_backend": "manual"},
        {"attention_backend": "manual", "dropout": 0.1},
        {"attention_backend": "manual", "attention": "sliding", "window": 64},
        {"attention": "sliding", "window": 64},
        {"activation": "swiglu", "n_kv_head": 1},
    ],
    ids=str,
)
def test_experts_keep_what_attention_dropout_and_gates_need(changes):
    experiment = ARCHITECTURES["moe"].but(**changes)
    one_layer, two_layers = (held(experiment.but(n_layer=n)) for n in (1, 2))
    assert 0.85 < (two_layers - one_layer) / kept.block_numbers(experiment) < 1.05
