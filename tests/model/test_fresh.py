"""Memory that a step takes anew: arrays from 32 MiB on, by what an engine allocates."""

import pytest
from settled import settled

from cputrain.model import fresh
from cputrain.model.shapes import n_params


def test_logits_of_32_mib_fault_in_every_step_and_smaller_ones_never():
    rows = 32 * 2**20 // 4 // 1024
    below, above = (settled(vocab_size=v, seq_len=1024) for v in (rows - 1, rows))
    logits = 4 * 32 * 2**20 // 4096
    assert fresh.pages(above) - fresh.pages(below) == pytest.approx(logits, abs=1)
    thrice = above.but(grad_accum=3)
    assert fresh.pages(thrice) - fresh.pages(below) == pytest.approx(3 * logits, abs=1)
    assert fresh.pages(below.but(objective="forward")) == 0
    assert fresh.pages(above.but(objective="forward")) == logits // 2


def test_half_of_the_small_gradients_fault_once_a_step():
    small = settled()
    assert fresh.pages(small) == pytest.approx(n_params(small) * 4 / 4096 / 2, rel=0.01)
    assert fresh.pages(small.but(grad_accum=3)) == fresh.pages(small)


def test_a_tied_table_has_three_arrays_of_which_two_are_each_micro_batch_s():
    """7.1 arrays of 51 MB were counted where four are of the logits."""
    wide = settled(vocab_size=50_000, seq_len=64)  # its table is of 51 MB, its logits of 13 MB
    table = 4 * 50_000 * 256 // 4096
    others = fresh.pages(settled(seq_len=64)) - 32  # without half of its own table
    assert fresh.pages(wide) == pytest.approx(3 * table + others, abs=3)
    assert fresh.pages(wide.but(grad_accum=2)) == pytest.approx(5 * table + others, abs=3)
    untied = settled(vocab_size=50_000, seq_len=64, tied=False)
    assert fresh.pages(untied) == pytest.approx(2 * table + others, abs=3)
    assert fresh.pages(wide.but(objective="forward")) == 0


def test_an_engine_allocates_arrays_a_whole_program_or_nothing():
    large = {"vocab_size": 8192, "seq_len": 1024}
    torch, jax, native = (settled(**large, engine=e) for e in ("torch", "jax", "native"))
    assert fresh.pages(native) == 0
    assert fresh.pages(jax) > fresh.pages(torch) > 0


def test_a_program_s_large_scores_fault_and_small_ones_never():
    """219 528 faults were counted in a step of the first, 0 in one of the second."""
    large = settled(
        engine="jax", n_layer=2, n_embd=192, n_head=6, mlp_ratio=1, seq_len=1024, batch_size=2
    )
    scores = 4 * 2 * 6 * 1024**2
    assert fresh.pages(large) == 2 * 9 * scores // 4096
    assert fresh.pages(settled(engine="jax")) == 0
    local = large.but(attention="local", window=128)
    assert fresh.pages(local) < 0.1 * fresh.pages(large)  # its scores are an eighth as large
    sizes = [fresh.pages(settled(engine="jax", batch_size=n)) for n in (8, 16, 32, 64)]
    assert sizes == sorted(set(sizes))
