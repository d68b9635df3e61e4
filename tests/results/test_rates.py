"""Shares of the measured peaks: mfu and hfu."""

import pytest
from made_project import worker
from settled import settled

from cputrain.model import flops
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
    assert off["hfu"] is None
    assert on["mfu"] == pytest.approx(off["mfu"])
    assert on["hfu"] > 1.2 * on["mfu"]


def test_padding_is_no_work_of_the_model():
    packed = rates.columns(made(data={"counted_share": 0.99}), 0.05, PEAKS)
    padded = rates.columns(made(data={"counted_share": 0.5}, packing="padded"), 0.05, PEAKS)
    assert packed["hfu"] is None
    assert padded["mfu"] == pytest.approx(packed["mfu"] / 2)
    assert padded["hfu"] == pytest.approx(packed["mfu"])


def test_without_a_peak_there_is_neither():
    alone = rates.columns(made(activation_checkpointing=True), 0.05, {})
    assert (alone["mfu"], alone["hfu"]) == (None, None) and alone["gflop_per_s"] > 0
