"""Whole simulated sessions, with the program's own code for passes and stopping."""

import math

import numpy as np
import pytest
import simulated_pairs as simulated

from cputrain.analysis.paired import forecast, planning

pytestmark = pytest.mark.tools

ENGINES = {name: getattr(simulated, name) for name in ("TORCH", "NATIVE", "JAX", "NOISY", "BUSY")}
SIZES = np.log([1.0, 1.0, 1.01, 1.02, 1.03, 1.05, 1.1, 1.3, 2.0, 6.0])
"""True effects, each as often below 1 as above."""


def cells_and_words(engine, ratios, sessions=5, cells=40, seed=1, **given):
    """The cells of several sessions, each with what is said of it."""
    rng = np.random.default_rng(seed)
    both = []
    for _ in range(sessions):
        log_effects = rng.choice(ratios, cells) * rng.choice([-1, 1], cells)
        session = simulated.session(rng, engine, log_effects, **given)
        both += zip(session.cells, session.words(), strict=True)
    return both


def share(both, words):
    return np.mean([word in words for _, word in both])


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_intervals_hold_the_truth_after_adaptive_stopping(engine):
    both = cells_and_words(engine, SIZES)
    assert np.mean([cell.is_covered() for cell, _ in both]) >= 0.98
    assert len({len(cell.passes) for cell, _ in both}) > 1  # else nothing was adaptive


def test_identical_cells_are_the_same():
    both = cells_and_words(simulated.TORCH, [0.0], pairs=(4, 12), sessions=4)
    assert share(both, ("faster", "slower")) <= 0.02
    assert share(both, ("same",)) >= 0.9


def test_three_passes_tell_three_percent_and_five():
    three, five = (
        cells_and_words(simulated.TORCH, [math.log(ratio)], pairs=(4, 12), sessions=3)
        for ratio in (1.03, 1.05)
    )
    assert share(three, ("faster", "slower")) >= 0.80
    assert share(five, ("faster", "slower")) >= 0.95
    assert not any(
        word == ("faster" if cell.log_effect > 0 else "slower") for cell, word in three + five
    )


def test_forecasts_are_about_right():
    """How many passes close cells: as said after the first one."""
    rng = np.random.default_rng(6)
    log_effects = np.zeros(30)
    first = simulated.session(rng, simulated.TORCH, log_effects, pairs=(6, 6), passes=1)
    last = simulated.session(rng, simulated.TORCH, log_effects, pairs=(6, 6), passes=8)
    said = [
        forecast.passes_until(
            cell.effect, first.noise, cell.effect.half_width / planning.PRECISION, pairs=6
        )
        + 1
        for cell in first.cells
    ]
    assert np.median(said) == pytest.approx(np.median([len(c.passes) for c in last.cells]), abs=1)


def test_pairs_that_others_spoil_do_not_tip_the_effect():
    """Others come often and for long, and what they do to either side is dropped."""
    host = simulated.Host(bursts_hz=0.3, burst_s=1.0, burst=0.5)
    engine = simulated.Engine(0.0035, 0.008, host=host)
    both = cells_and_words(engine, [0.0], sessions=6, pairs=(8, 8))
    values = [math.log(cell.effect.value) for cell, _ in both]
    assert abs(np.mean(values)) < 0.002
    kept = np.concatenate([[len(pass_.log_ratios) for pass_ in cell.passes] for cell, _ in both])
    assert kept.mean() < 7.5
    assert np.mean([cell.is_covered() for cell, _ in both]) >= 0.98
