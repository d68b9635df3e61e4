"""The order of the suites."""

import pytest

from cputrain.analysis.ranking import rank
from cputrain.record.cell import CellKey
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools


def cell(suite, value, step_s, tokens=256, status="ok", above_noise=None, disturbed=0, engine=None):
    values = (value,) if engine is None else (value, engine)
    names = ("x",) if engine is None else ("x", "engine")
    key = CellKey(suite, values, names)
    made = CellResult("here", key, key.name, "full", status, None, step_s)
    row = {
        "suite": suite,
        "value": made.value,
        "status": status,
        "step_s": step_s,
        "tokens_per_s": tokens / step_s if step_s else None,
        "above_noise": above_noise,
        "samples": 6,
        "disturbed_samples": disturbed,
    }
    return made, row


def test_suites_stand_by_slowest_over_fastest():
    cells = [
        cell("Small", "a", 1.0, above_noise=False),
        cell("Small", "b", 1.1, above_noise=False),
        cell("Large", "128", 1.0, tokens=128, above_noise=True),
        cell("Large", "512", 8.0, tokens=512, above_noise=False),
        cell("Large", "1024", None, status="failed"),
        cell("Single", "a", 3.0),
        cell("Single", "b", None, status="skipped"),
    ]
    large, small = rank(cells)
    assert (large.suite, large.ratio) == ("Large", 8.0)
    assert (large.fastest[0].value, large.slowest[0].value) == ("128", "512")
    assert large.per_token == pytest.approx(2.0)
    assert large.verdict == "yes"
    assert small.ratio == pytest.approx(1.1)
    assert small.per_token is None
    assert small.verdict == "no"


def test_without_a_floor_nothing_is_said_of_noise():
    (suite,) = rank([cell("S", "a", 1.0), cell("S", "b", 2.0)])
    assert suite.verdict == "not known"


@pytest.mark.parametrize(("disturbed", "verdict"), [(1, "yes"), (2, "yes"), (3, "disturbed")])
def test_half_of_the_samples_make_a_cell_disturbed(disturbed, verdict):
    cells = [cell("S", "a", 1.0, above_noise=False)]
    cells.append(cell("S", "b", 2.0, above_noise=True, disturbed=disturbed))
    (suite,) = rank(cells)
    assert suite.verdict == verdict


def test_an_engine_s_values_are_compared_with_its_own():
    times = {"torch": (1.0, 1.5), "jax": (10.0, 30.0), "native": (4.0,)}
    cells = [
        cell("S", value, step_s, engine=engine)
        for engine, steps in times.items()
        for value, step_s in zip("ab", steps, strict=False)
    ]
    (suite,) = rank(cells)
    assert (suite.engine, suite.ratio) == ("torch", 1.5)
    assert [(other.engine, other.ratio) for other in suite.others] == [("jax", 3.0)]
