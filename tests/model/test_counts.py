import subprocess
import sys

import pytest

from cputrain.experiment import Experiment
from cputrain.model import flops, memory, shapes

BASE = Experiment()


def test_needs_the_standard_library_only():
    code = (
        "import sys, cputrain.model.memory, cputrain.model.flops; sys.exit('numpy' in sys.modules)"
    )
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
    one, eight = flops.flops_per_step(BASE), flops.flops_per_step(BASE.but(batch_size=8))
    assert (eight.total, eight.formula) == (8 * one.total, 8 * one.formula)


def test_memory_counts_every_parameter_five_times_over():
    need = memory.memory_bytes(BASE)
    weights = 4 * shapes.n_params(BASE)
    assert need.parameters + need.gradients + need.optimizer == 5 * weights
    assert need.total == 5 * weights + need.activations + need.framework


def test_memory_of_the_widest_value():
    total = memory.memory_bytes(BASE.but(n_embd=2048, n_head=32)).total
    assert 3.2e9 < total < 5e9
