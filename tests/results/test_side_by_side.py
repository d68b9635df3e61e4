"""Ratios of engines that ran beside torch."""

import math
from dataclasses import replace

import pytest
from made_engines import SEED, run
from msgspec import structs

from cputrain.analysis.side_by_side import ratios
from cputrain.analysis.side_by_side.ratios import DISTURBED

pytestmark = pytest.mark.tools

PEAKS = {"fp32": {"1": 1e12, "2": 2e12}}


def rows(*args, **kwargs):
    """By engine, with one thread on the first shape."""
    every = ratios.analyse(run(*args, **kwargs), PEAKS)
    return {row["value"]: row for row in every[: len(every) // 4]}, every


def test_a_row_has_all_figures():
    mine, every = rows({"torch": 1.0, "jax": 1.5})
    row = mine["jax"]
    assert len(every) == 8
    assert (row["suite"], row["value"], row["engine"]) == ("Framework", "jax", "jax")
    assert (row["compute_threads"], row["cores"], row["workers"]) == (1, 1, 3)
    assert row["step_s"] == pytest.approx(0.075, rel=0.02)
    assert (row["first_step_s"], row["import_s"]) == (0.3, 2.0)
    assert row["peak_rss_bytes"] == 400_000_000
    assert row["gflop_per_s"] == pytest.approx(10 / row["step_s"])
    assert row["mfu"] == pytest.approx(1e10 / row["step_s"] / 1e12)
    assert row["tokens_per_s"] == pytest.approx(256 / row["step_s"])
    assert (row["first_loss"], row["last_loss"]) == (5.6, 3.1)
    assert (row["seed"], row["order"], row["commit"]) == (SEED, "4 5 6", "c" * 40)
    assert (row["torch"], row["session"]) == ("2.13.0+cpu", "20261121T110000-1234")
    assert (row["passes"], row["pairs"], row["dropped_pairs"]) == (3, 36, 0)
    two = next(r for r in every if r["value"] == "jax" and r["compute_threads"] == 2)
    assert two["mfu"] == pytest.approx(1e10 / two["step_s"] / 2e12)


def test_the_machine_s_drift_is_in_no_ratio():
    """Step times of the rounds differ by half, those of neighbouring blocks do not."""
    engines = {"torch": 1.0, "numpy": 0.7, "jax": 1.1}
    mine, _ = rows(engines, slow=(1.0, 1.5, 0.8))
    for name in ("numpy", "jax"):
        assert mine[name]["over_torch"] == pytest.approx(engines[name], rel=0.01)
        assert mine[name]["over_torch_high"] / mine[name]["over_torch_low"] < 1.08
    assert (mine["numpy"]["verdict"], mine["jax"]["verdict"]) == ("faster", "slower")


def test_torch_s_row_is_an_a_a_pair_of_which_nothing_is_said():
    mine, _ = rows({"torch": 1.0, "jax": 1.5}, workers={"torch": 0.01})
    row = mine["torch"]
    assert 0.95 < row["over_torch"] < 1.05 and row["over_torch"] != 1.0
    assert row["over_torch_low"] < 1 < row["over_torch_high"]
    assert (row["verdict"], row["further_passes"]) == (None, None)


def test_an_engine_whose_workers_lie_apart_has_wider_intervals_than_torch_s_would_give():
    """Torch's workers are alike here: by them alone jax would be told from torch."""
    wide, _ = rows({"torch": 1.0, "jax": 1.03}, workers={"jax": 0.05}, seed=5)
    narrow, _ = rows({"torch": 1.0, "jax": 1.03}, seed=5)

    def width(row):
        return math.log(row["over_torch_high"] / row["over_torch_low"])

    assert width(wide["jax"]) > 2 * width(narrow["jax"])
    assert wide["jax"]["verdict"] not in ("faster", "slower")


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_intervals_cover_the_ratio_that_was_made(rounds):
    engines = {"torch": 1.0, **{f"numpy {i}": 0.8 for i in range(4)}, "jax": 1.1}
    spread = {"torch": 0.01, "jax": 0.02, **{name: 0.004 for name in engines if "n" in name}}
    held = []
    for seed in (3, 4, 5):
        _, every = rows(engines, rounds=rounds, workers=spread, blocks=0.04, seed=seed)
        made = [row for row in every if row["value"] != "torch"]
        held += [r["over_torch_low"] <= engines[r["value"]] <= r["over_torch_high"] for r in made]
    assert len(held) == 60 and sum(held) >= 0.95 * len(held)


def test_one_round_tells_a_large_ratio_and_no_small_one():
    mine, _ = rows({"torch": 1.0, "numpy": 0.6, "jax": 1.05}, rounds=1)
    assert mine["numpy"]["verdict"] == "faster"
    assert mine["jax"]["verdict"] == "not told" and mine["jax"]["further_passes"] >= 1


def test_a_failed_engine_costs_its_own_row():
    mine, _ = rows({"torch": 1.0, "jax": "EngineError: no jax", "numpy": 0.7})
    assert (mine["jax"]["status"], mine["jax"]["reason"]) == ("failed", "EngineError: no jax")
    assert mine["jax"]["step_s"] is None and mine["jax"]["over_torch"] is None
    assert mine["numpy"]["over_torch"] == pytest.approx(0.7, rel=0.01)


def changed(**fields):
    """The row of jax, whose only worker's record has other fields."""
    torch, jax = run({"torch": 1.0, "jax": 1.5}, rounds=1)[:2]
    (pair,) = jax.pairs
    worker = pair.worker.but(**fields)
    cell = replace(jax.cell, workers=(worker,))
    other = ratios.Measured(cell, [structs.replace(pair, worker=worker)])
    return ratios.analyse([torch, other], PEAKS)[1]


def test_an_engine_whose_loss_is_another_has_a_time_and_no_ratio():
    row = changed(first_loss=6.1)
    assert row["over_torch"] is None and row["step_s"] == pytest.approx(0.075, rel=0.05)
    assert "the losses do not agree" in row["reason"]


def test_without_a_pair_that_counts_there_is_a_reason():
    row = changed(pairs=[])
    assert row["over_torch"] is None and row["reason"] == DISTURBED
