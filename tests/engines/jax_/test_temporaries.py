"""What XLA's programs take anew in a step, against what was counted. Standard library only."""

import pytest
from settled import settled

from cputrain.engines.jax_ import options, temporaries
from cputrain.model import fresh

MB = 10**6
WIDE = {"n_layer": 1, "n_embd": 64, "n_head": 1, "seq_len": 128}


@pytest.mark.parametrize(
    ("fields", "megabytes", "pages"),
    [
        ({**WIDE, "vocab_size": 16_000, "batch_size": 4}, 69.9, 17_066),
        ({"vocab_size": 32_000}, 100.5, 26_052),
        ({**WIDE, "n_layer": 6, "n_head": 2, "mlp_ratio": 2, "vocab_size": 16_000, "seq_len": 192,
          "batch_size": 8}, 269.7, 65_867),
        ({"n_layer": 1, "n_embd": 384, "n_head": 6, "mlp_ratio": 3, "vocab_size": 8000,
          "seq_len": 128, "batch_size": 8}, 116.0, 30_296),
    ],
)  # fmt: skip
def test_a_program_that_fits_no_blocks_faults_in_all_that_it_needs(fields, megabytes, pages):
    """What XLA said it needs, and medians of pages that a step faulted (jax 0.10.2)."""
    experiment = settled(engine="jax", **fields)
    assert options.block(experiment) is None
    assert temporaries.needs(experiment) == pytest.approx(megabytes * MB, rel=0.08)
    assert fresh.pages(experiment) == pytest.approx(pages, rel=0.09)


@pytest.mark.parametrize(
    ("fields", "megabytes", "pages"),
    [
        ({}, 35.7, [0, 0]),
        ({"n_layer": 8}, 69.1, [0, 0]),
        ({"batch_size": 4}, 163.2, [0, 2849]),
        ({"vocab_size": 16_000}, 67.7, [0, 0]),
        ({"seq_len": 1024}, 316.8, [20_582, 25_513, 69_750]),
        ({"n_layer": 3, "n_embd": 512, "n_head": 8, "mlp_ratio": 2, "vocab_size": 1000,
          "seq_len": 512}, 150.0, [8427, 12_880, 16_713]),
    ],
)  # fmt: skip
def test_a_program_in_blocks_faults_in_little_of_it_while_it_is_small(fields, megabytes, pages):
    experiment = settled(engine="jax", **fields)
    assert options.block(experiment) is not None
    assert temporaries.needs(experiment) == pytest.approx(megabytes * MB, rel=0.26)
    least, most = min(pages) / 2, max(pages) + 100
    assert least <= fresh.pages(experiment) <= most


def test_gradients_are_the_least_that_a_program_needs():
    """A table of 98 MB, whose gradient is there before any weight is changed."""
    table = settled(engine="jax", n_layer=1, n_embd=768, n_head=12, mlp_ratio=1,
                    vocab_size=32_000, seq_len=64)  # fmt: skip
    assert temporaries.needs(table) == pytest.approx(110.2 * MB, rel=0.03)


def test_a_first_step_s_program_has_no_blocks():
    first = settled(engine="jax", jit_state="cold")
    assert options.block(first) is None
    assert fresh.pages(first) == temporaries.needs(first) // 4096
