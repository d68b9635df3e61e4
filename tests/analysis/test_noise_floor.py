"""The noise floor and what stands above it."""

import numpy as np
import pytest

from cputrain.analysis.interval import Estimate, Interval
from cputrain.analysis.noise_floor import Pairs, floor, floors, is_above, of_engine, pairs
from cputrain.record.cell import CellKey
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools


def test_floor_is_the_largest_ratio_less_one():
    assert floor([1.0, 1.02, 0.98]) == pytest.approx(1.02 / 0.98 - 1)


@pytest.mark.parametrize("times", [[], [1.0]])
def test_without_two_cells_there_is_no_floor(times):
    assert floor(times) is None


@pytest.mark.parametrize(
    ("effect", "noise", "expected"),
    [
        (Interval(1.10, 1.05, 1.15), 0.03, True),
        (Interval(0.90, 0.85, 0.95), 0.03, True),
        (Interval(1.02, 1.01, 1.03), 0.03, False),  # sure, but within the floor
        (Interval(0.98, 0.97, 0.99), 0.03, False),
        (Interval(1.10, 0.99, 1.22), 0.03, False),  # large, but not sure
        (Interval(1.10, 1.05, 1.15), None, None),
        (None, 0.03, None),
    ],
)
def test_above_noise_needs_both_interval_and_floor(effect, noise, expected):
    assert is_above(effect, noise) is expected


def estimate(step_s, low, high):
    logs = np.log(np.random.default_rng(round(100 * step_s)).uniform(low, high, 1001))
    return Estimate(step_s, Interval(step_s, low, high), logs=logs)


def cell(engine=None, suite="Baseline"):
    values = ("A",) if engine is None else ("A", engine)
    names = ("copy",) if engine is None else ("copy", "engine")
    key = CellKey(suite, values, names)
    return CellResult("here", key, key.name, "full", "ok", None, 1.0)


def test_pairs_of_identical_cells_that_the_interval_tells_apart_are_counted():
    near = [(cell(), estimate(1.0, 0.9, 1.1)), (cell(), estimate(1.02, 0.92, 1.12))]
    far = cell(), estimate(2.0, 1.99, 2.01)
    assert pairs(near) == Pairs(different=0, all=1)
    assert pairs([*near, far]) == Pairs(different=2, all=3)
    assert pairs([*near, (cell(), Estimate(1.0, None))]) == Pairs(different=0, all=1)


def test_cells_of_two_engines_are_no_pair():
    torch = [(cell("torch"), estimate(1.0, 0.99, 1.01)), (cell("torch"), estimate(1.0, 0.99, 1.01))]
    jax = cell("jax"), estimate(2.0, 1.99, 2.01)
    assert pairs([*torch, jax]) == Pairs(different=0, all=1)


def test_each_engine_has_its_own_floor_and_others_the_largest():
    times = [(cell("torch"), 1.0), (cell("torch"), 1.02), (cell("jax"), 2.0), (cell("jax"), 2.2)]
    known = floors([*times, (cell("native"), 5.0), (cell("torch", "SeqLen"), 9.0)])
    assert known == {"torch": pytest.approx(0.02), "jax": pytest.approx(0.1)}
    assert of_engine(known, "torch") == known["torch"]
    assert of_engine(known, "native") == of_engine(known, None) == known["jax"]
    assert of_engine({}, "torch") is None
