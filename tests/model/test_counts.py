import subprocess
import sys

import pytest
from settled import settled

from cputrain.model import flops, shapes

BASE = settled()


def test_needs_the_standard_library_only():
    modules = "sys, cputrain.model.memory_estimate, cputrain.model.flops"
    code = f"import {modules}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_parameters_of_the_baseline_by_hand():
    block = 2 * 2 * 256 + (3 * 256 + 1 * 256) * 256 + 4 * 256 + 2 * 4 * 256 * 256 + 5 * 256
    assert shapes.n_params(BASE) == 257 * 256 + 256 * 256 + 4 * block + 2 * 256


def test_parameters_of_gpt2_small():
    gpt2 = BASE.but(n_layer=12, n_embd=768, n_head=12, vocab_size=50257, seq_len=1024)
    assert shapes.n_params(gpt2) == 124_439_808


def test_products_of_the_baseline_by_hand():
    step = flops.flops_per_step(BASE)
    assert step.matmul == 6 * 256 * (4 * 12 * 256 * 256 + 257 * 256)
    assert step.total == step.matmul + step.attention


def test_formula_is_the_usual_one():
    params = shapes.n_params(BASE) - 256 * 256
    assert flops.flops_per_step(BASE).formula == 256 * (6 * params + 12 * 4 * 256 * 256)


@pytest.mark.parametrize(
    ("seq_len", "share"), [(128, 1), (256, 1), (512, 1), (1024, 0.75), (2048, 0.625)]
)
def test_the_fused_kernel_skips_whole_blocks_only(seq_len, share):
    full = flops.flops_per_step(BASE.but(seq_len=seq_len, attention_backend="manual")).attention
    assert full == 6 * 2 * 4 * 256 * seq_len**2
    fused = flops.flops_per_step(BASE.but(seq_len=seq_len)).attention
    assert fused == pytest.approx(full * share * 7 / 6)


def test_work_is_in_proportion_to_the_batch():
    single, eightfold = flops.flops_per_step(BASE), flops.flops_per_step(BASE.but(batch_size=8))
    assert (eightfold.total, eightfold.formula) == (8 * single.total, 8 * single.formula)


def test_formula_counts_what_a_token_meets():
    untied = BASE.but(tied=False)
    assert flops.flops_per_step(untied).formula == flops.flops_per_step(BASE).formula
    heads = BASE.but(head_dim=128)
    params = shapes.n_params(heads) - 256 * 256
    assert flops.flops_per_step(heads).formula == 256 * (6 * params + 12 * 4 * 512 * 256)


def test_formula_of_a_forward_pass_is_a_third():
    whole, forward = (flops.flops_per_step(BASE.but(objective=o)) for o in ("causal", "forward"))
    assert forward.formula * 3 == whole.formula
    assert forward.matmul * 3 == whole.matmul


@pytest.mark.parametrize(
    "changes",
    [
        {"attention": "local", "window": 64},
        {"activation_checkpointing": True},
        {"fine_tuning": "lora"},
        {"fine_tuning": "head", "tied": False},
        {"loss_chunk": 64},
        {"precision": "q8"},
        {"attention_backend": "manual"},
    ],
    ids=str,
)
def test_formula_knows_no_shortcuts(changes):
    assert flops.flops_per_step(BASE.but(**changes)).formula == flops.flops_per_step(BASE).formula


def test_an_expert_counts_for_its_share_of_the_tokens():
    moe = flops.flops_per_step(BASE.but(architecture="moe"))
    params = shapes.n_params(BASE.but(architecture="moe")) - 256 * 256
    experts = 4 * (2 * 256 * 1024 + 1024 + 4 * 256)  # their biases too
    quadratic = 12 * 4 * 256 * 256
    assert moe.formula == 256 * (6 * (params - experts // 2) + quadratic)


@pytest.mark.parametrize("window", [64, 128, 512, 1024])
def test_windows_do_less_work(window):
    full, local, sliding = (
        flops.flops_per_step(BASE.but(seq_len=1024, **kind)).attention
        for kind in (
            {},
            {"attention": "local", "window": window},
            {"attention": "sliding", "window": window},
        )
    )
    product = 7 * 2 * 4 * 256
    if window < 1024:
        assert local == product * 1024 * window
        assert sliding == product * (window**2 + (1024 - window) * 2 * window)
    else:
        assert local == sliding == full == product * 1024 * 1024 * 3 // 4


def test_an_encoder_skips_nothing():
    bert = BASE.but(architecture="bert", objective="masked", vocab_size=258, seq_len=1024)
    assert flops.flops_per_step(bert).attention == 7 * 2 * 4 * 256 * 1024 * 1024


@pytest.mark.parametrize(
    ("precision", "kinds"),
    [
        ("fp32", {"fp32"}),
        ("q4", {"fp32"}),
        ("bitnet", {"fp32"}),
        ("bf16", {"bf16"}),
        ("mixed", {"bf16"}),
        ("q8", {"fp32", "int8"}),
        ("q8_torchao", {"fp32", "int8"}),
        ("bitnet_torchao", {"fp32", "int8"}),
    ],
)
def test_operations_by_type(precision, kinds):
    step = flops.flops_per_step(BASE.but(precision=precision))
    assert set(step.by_type) == kinds and sum(step.by_type.values()) == step.total
    blocks = 2 * 256 * 4 * 12 * 256 * 256
    passes = {"q8": 1, "q8_torchao": 3, "bitnet_torchao": 1}.get(precision, 0)
    assert step.by_type.get("int8", 0) == passes * blocks
    assert step.total == flops.flops_per_step(BASE).total


def test_a_scan_and_a_router_stay_in_fp32():
    scan = flops.flops_per_step(BASE.but(architecture="ssm", precision="bf16"))
    assert scan.by_type["fp32"] == scan.attention
    router = flops.flops_per_step(BASE.but(architecture="moe", precision="bf16"))
    assert router.by_type["fp32"] == 6 * 256 * 4 * 4 * 256
