"""Ratios of engines that ran in turns."""

import pytest
from made_engines import SEED, run

from cputrain.analysis.side_by_side import ratios

pytestmark = pytest.mark.tools

PEAKS = {"fp32": {"1": 1e12, "2": 2e12}}


def rows(*args, **kwargs):
    """By engine, with one thread on the first shape."""
    every = ratios.analyse(run(*args, **kwargs), PEAKS)
    return {row["value"]: row for row in every[: len(every) // 4]}, every


def test_a_row_has_all_figures():
    mine, every = rows({"torch": 1.0, "torch again": 1.0, "jax": 1.5})
    row = mine["jax"]
    assert len(every) == 12
    assert (row["suite"], row["value"], row["engine"]) == ("Framework", "jax", "jax")
    assert (row["compute_threads"], row["cores"], row["workers"]) == (1, 1, 3)
    assert row["step_s"] == pytest.approx(0.075, rel=0.01)
    assert row["step_s_low"] < row["step_s"] < row["step_s_high"]
    assert (row["first_step_s"], row["import_s"]) == (0.3, 2.0)
    assert row["peak_rss_bytes"] == 400_000_000
    assert row["gflop_per_s"] == pytest.approx(10 / row["step_s"])
    assert row["mfu"] == pytest.approx(1e10 / row["step_s"] / 1e12)
    assert row["tokens_per_s"] == pytest.approx(256 / row["step_s"])
    assert (row["first_loss"], row["last_loss"]) == (5.6, 3.1)
    assert (row["seed"], row["order"], row["commit"]) == (SEED, "7 8 9", "c" * 40)
    assert (row["torch"], row["session"]) == ("2.13.0+cpu", "20261121T110000-1234")
    two = next(r for r in every if r["value"] == "jax" and r["compute_threads"] == 2)
    assert two["mfu"] == pytest.approx(1e10 / two["step_s"] / 2e12)


def test_a_slow_round_does_not_move_the_ratio():
    """Taken of all rounds together the times differ by half; pair by pair they do not."""
    engines = {"torch": 1.0, "torch again": 1.0, "numpy": 0.7, "jax": 1.1}
    mine, every = rows(engines, slow=(1.0, 1.5, 0.8))
    for name in ("numpy", "jax"):
        assert mine[name]["over_torch"] == pytest.approx(engines[name], rel=0.01)
        assert mine[name]["over_torch_high"] / mine[name]["over_torch_low"] < 1.1
        assert mine[name]["above_noise"] is True
    assert mine["jax"]["step_s_high"] / mine["jax"]["step_s_low"] > 1.3
    assert [row["over_torch"] for row in every if row["value"] == "torch"] == [1.0] * 4


def test_what_lies_between_torch_and_itself_is_not_believed():
    mine, every = rows({"torch": 1.0, "torch again": 1.08, "numpy": 0.95, "jax": 1.3})
    assert mine["torch again"]["over_torch"] == pytest.approx(1.08, rel=0.01)
    assert mine["numpy"]["over_torch_high"] < 1
    assert (mine["numpy"]["above_noise"], mine["jax"]["above_noise"]) == (False, True)
    assert {row["above_noise"] for row in every if "torch" in row["value"]} == {None}


def test_the_intervals_cover_the_ratio_that_was_made():
    engines = {"torch": 1.0, "torch again": 1.0, **{f"numpy {i}": 0.8 for i in range(10)}}
    _, every = rows(engines, noise=0.05)
    made = [row for row in every if row["value"].startswith("numpy")]
    held = [row["over_torch_low"] <= 0.8 <= row["over_torch_high"] for row in made]
    assert sum(held) >= 0.95 * len(held)


def test_one_round_has_ratios_without_intervals():
    mine, _ = rows({"torch": 1.0, "torch again": 1.0, "numpy": 0.7}, rounds=1)
    assert mine["numpy"]["over_torch"] == pytest.approx(0.7, rel=0.01)
    assert mine["numpy"]["over_torch_low"] is None and mine["numpy"]["above_noise"] is None
    assert "too few rounds" in mine["numpy"]["reason"]


def test_a_failed_engine_costs_its_own_row():
    mine, _ = rows({"torch": 1.0, "torch again": 1.0, "jax": "EngineError: no jax", "numpy": 0.7})
    assert (mine["jax"]["status"], mine["jax"]["reason"]) == ("failed", "EngineError: no jax")
    assert mine["jax"]["step_s"] is None and mine["jax"]["over_torch"] is None
    assert mine["jax"]["seed"] == SEED
    assert mine["numpy"]["over_torch"] == pytest.approx(0.7, rel=0.01)


def test_without_torch_there_are_times_and_no_ratios():
    mine, _ = rows({"torch": "EngineError: no torch", "numpy": 0.7, "jax": 1.1})
    assert mine["numpy"]["step_s"] == pytest.approx(0.035, rel=0.01)
    assert mine["numpy"]["over_torch"] is None
    assert "torch has no number" in mine["numpy"]["reason"]
