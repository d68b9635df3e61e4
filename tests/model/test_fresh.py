"""Memory that a step takes anew: arrays from 32 MiB on, by what an engine allocates."""

import pytest
from settled import settled

from cputrain.model import fresh
from cputrain.model.shapes import n_params

MIB = 2**20
PAGES_OF_MIB = 256


def test_logits_of_32_mib_all_fault_and_half_of_what_smaller_ones_have_beyond_64_mib():
    rows = 32 * MIB // 4 // 1024
    below, above = (settled(n_layer=2, vocab_size=v, seq_len=1024) for v in (rows - 1, rows))
    hidden = 2 * 4 * 2  # two blocks have two arrays of 4 MiB each
    gradients = 0.5 * 4 * n_params(above) / MIB
    assert fresh.pages(above) == 4 * 32 * PAGES_OF_MIB  # what is smaller stays in the heap
    beyond = (4 * 32 + hidden + gradients - 64) / 2 * PAGES_OF_MIB
    assert fresh.pages(below) == pytest.approx(beyond, abs=32)
    thrice = above.but(grad_accum=3)
    assert fresh.pages(thrice) == 3 * fresh.pages(above)
    assert fresh.pages(below.but(objective="forward")) == pytest.approx(
        (2 * 32 + hidden / 2 - 64) / 2 * PAGES_OF_MIB, abs=16
    )


@pytest.mark.parametrize(
    ("fields", "counted"),
    [
        ({}, [0, 0]),
        ({"batch_size": 8}, [4358, 5128, 8179, 9220]),
        ({"n_layer": 1, "n_embd": 64, "n_head": 1, "vocab_size": 16_000, "seq_len": 512},
         [13_324, 6818]),
        ({"vocab_size": 32_000}, [11_986, 7985]),
        ({"vocab_size": 50_000}, [87_508, 87_510]),
    ],
)  # fmt: skip
def test_pages_are_near_those_that_the_kernel_counted(fields, counted):
    """torch on two CPUs of an EPYC (Zen 4), in each of two runs or more."""
    mean = sum(counted) / len(counted)
    assert fresh.pages(settled(**fields)) == pytest.approx(mean, rel=0.3, abs=600)


def test_the_heap_s_end_counts_once_for_gradients_and_each_time_for_a_micro_batch_s():
    """33 MiB of gradients at the end of the heap, 66 of two rows' arrays."""
    deep = settled(n_layer=20, n_embd=256, vocab_size=257, batch_size=4, seq_len=128)
    arrays, gradients = 2 * 20 * 2 + 2, 0.5 * 4 * n_params(deep) / MIB
    pages = fresh.pages(deep.but(grad_accum=3))
    expected = (arrays + gradients - 64 + 2 * (arrays - 64)) / 2 * PAGES_OF_MIB
    assert pages == pytest.approx(expected, rel=0.01)


def test_a_tied_table_has_three_arrays_of_which_two_are_each_micro_batch_s():
    """7.1 arrays of 51 MB were counted where four are of the logits."""
    wide = settled(vocab_size=50_000, seq_len=64)  # its table is of 51 MB, its logits of 13 MB
    table = 4 * 50_000 * 256 // 4096
    assert fresh.pages(wide) == pytest.approx(3 * table, abs=3)
    assert fresh.pages(wide.but(grad_accum=2)) == pytest.approx(5 * table, abs=3)
    untied = settled(vocab_size=50_000, seq_len=64, tied=False)
    assert fresh.pages(untied) == pytest.approx(2 * table, abs=3)
    assert fresh.pages(wide.but(objective="forward")) == 0


def test_an_engine_allocates_arrays_a_whole_program_or_nothing():
    large = {"vocab_size": 8192, "seq_len": 1024}
    torch, jax, native = (settled(**large, engine=e) for e in ("torch", "jax", "native"))
    assert fresh.pages(native) == 0
    assert fresh.pages(jax) > fresh.pages(torch) > 0


def test_the_heap_keeps_twice_the_largest_array_that_was_freed():
    """9 491 faults were counted in a step with logits of 16 MB, whose parameters have 3.7 MB."""
    small = {"n_layer": 2, "n_embd": 96, "n_head": 3, "mlp_ratio": 2, "vocab_size": 8000}
    few = settled(**small, seq_len=64, batch_size=8)
    logits, hidden, gradients = 4 * 512 * 8000, 4 * 512 * 192, 4 * n_params(few)
    given_back = (4 * logits + 4 * hidden + gradients / 2 - 2 * logits) / 2
    assert fresh.pages(few) == pytest.approx(given_back / 4096, abs=3)


def test_a_worker_s_parameters_are_the_first_block_that_is_freed():
    """Of 13 MB: the heap keeps twice as much, and its arrays have 16 MB (at most 1 MB each)."""
    assert fresh.pages(settled()) == 0
    deeper = settled(n_layer=8)
    assert fresh.pages(deeper) == 0
    assert fresh.pages(deeper.but(batch_size=4)) > 1000
