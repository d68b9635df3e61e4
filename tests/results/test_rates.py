"""Shares of the measured peaks: mfu and hfu."""

import pytest
from made_project import worker
from settled import settled

from cputrain.model import flops
from cputrain.model.attention_flops import attention_flops
from cputrain.results import rates

pytestmark = pytest.mark.tools

PEAKS = {"fp32": {"2": 1e12}}


def made(data=(), **changes):
    experiment = settled(**changes)
    work = flops.flops_per_step(experiment)
    counts = {"flops_per_step": work.total, "flops_by_type": work.by_type}
    return worker(experiment, [[0.05]], counts=counts, data=dict(data))


def test_blocks_that_are_computed_again_count_once_in_mfu_and_twice_in_hfu():
    off = rates.columns(made(), 0.05, PEAKS)
    on = rates.columns(made(activation_checkpointing=True), 0.05, PEAKS)
    assert on["mfu"] == pytest.approx(off["mfu"])
    assert on["hfu"] > 1.2 * on["mfu"]


def test_scores_that_a_fused_kernel_multiplies_again_are_in_hfu_alone():
    fused = rates.columns(made(seq_len=512), 0.05, PEAKS)
    manual = rates.columns(made(seq_len=512, attention_backend="manual"), 0.05, PEAKS)
    assert manual["hfu"] is None
    assert fused["mfu"] == pytest.approx(manual["mfu"])  # no block of keys is skipped
    forward, _ = attention_flops(settled(seq_len=512))
    product = 4 * forward / 2  # of 4 layers
    assert fused["hfu"] - fused["mfu"] == pytest.approx(product / 1e12 / 0.05)


def test_an_experiment_that_says_not_all_has_what_was_executed():
    record = made(activation_checkpointing=True)
    record.experiment["runtime"]["attention_backend"] = None
    shares = rates.columns(record, 0.05, PEAKS)
    assert shares["mfu"] > 0 and shares["hfu"] is None


def test_padding_is_no_work_of_the_model():
    packed = rates.columns(made(data={"counted_share": 0.99}), 0.05, PEAKS)
    padded = rates.columns(made(data={"counted_share": 0.5}, packing="padded"), 0.05, PEAKS)
    assert padded["mfu"] == pytest.approx(packed["mfu"] / 2)
    assert padded["hfu"] == pytest.approx(packed["hfu"])


def test_without_a_peak_there_is_neither():
    alone = rates.columns(made(activation_checkpointing=True), 0.05, {})
    assert (alone["mfu"], alone["hfu"]) == (None, None) and alone["gflop_per_s"] > 0
