"""What an effect may differ by that was measured where the CPUs usually are not."""

import math

import pytest
from made_places import USUAL, others_near, passes, row_of, sweep
from made_project import at, beside, steps, worker
from settled import settled

from cputrain.analysis import effects, ends, slowdowns
from cputrain.analysis.machines import usual
from cputrain.analysis.slowdowns import Reference, Slowdowns
from cputrain.analysis.tuning import known as of_records
from cputrain.results import rows

pytestmark = pytest.mark.tools


def near(project, experiment):
    return at(beside(worker(experiment, steps(0.04, project.rng)), 0.04, project.rng), 57.0)


def test_what_references_take_longer_there_says_what_an_effect_may_differ_by(project):
    """1.3 times as long: no cell, however it slows down, is 1.43 times off at the usual place."""
    others_near(project)
    cells = sweep(project, *(passes(project, 0.033, 0.052, 345.0) for _ in range(2)))
    (cell, row), *_ = [each for each in cells if each[0].name == "SeqLen/512"]
    assert row["effect"] == pytest.approx(33 / 52, rel=0.03) and row["effect_high"] > 1 / 1.6
    assert (row["place"], row["verdict"]) == ("far", "faster")
    assert row["places_differ"] == pytest.approx(1.43, rel=0.02)
    said = ends.measured(cell, row)
    assert said.high == pytest.approx(row["effect_high"] * row["places_differ"])
    assert said.low == pytest.approx(row["effect_low"] / row["places_differ"])
    assert row_of(sweep(project, passes(project, 0.080, 0.040, 57.0)))["places_differ"] is None


def test_a_cell_that_takes_as_long_on_one_core_is_not_faster(project):
    """Its reference, of two threads, takes 1.7 times as long there."""
    others_near(project)
    there = [passes(project, 0.038, 0.068, 67.0, at_once=1.75) for _ in range(2)]
    row = row_of(sweep(project, *there))
    assert row["effect_high"] < 1 / 1.6 and row["place"] == "one core"
    assert (row["verdict"], row["doubt"]) == ("not told", "its CPUs lay elsewhere")


def test_a_reference_that_hardly_slows_down_leaves_more_to_its_cell():
    small, large = (Reference("torch", identity) for identity in ("small", "large"))
    known = Slowdowns("near", {"far": {small: 1.3, large: 1.05}, "one core": {small: 1.7}})
    assert known.by_engine("far") == {"torch": pytest.approx(1.175)}
    assert known.of_effect("far", small) == pytest.approx(1.1 * 1.3)
    assert known.of_effect("far", large) == pytest.approx(1.6 / 1.05)
    assert known.of_effect("far", Reference("torch", "new")) == pytest.approx(1.6 / 1.05)
    assert known.of_effect("one core", small) == pytest.approx(1.1 * 1.7)
    for unknown in (None, Reference("native", "own")):
        assert known.of_effect("far", unknown) == 1.6
        assert known.of_effect("one core", unknown) == 2.0
    turned = Slowdowns("far", {"near": {small: 1 / 1.3}})
    assert turned.of_effect("near", small) == pytest.approx(1.1 * 1.3)


def test_a_reference_of_another_engine_tells_nothing_of_a_cell(project):
    cells = [cell for cell, _ in sweep(project, passes(project, 0.080, 0.040, 57.0))]
    beside_each = slowdowns.references(cells)
    cell = next(cell for cell in cells if cell.name == "SeqLen/512")
    assert slowdowns.own(cell, beside_each) == beside_each["SeqLen/512"]
    assert beside_each["SeqLen/512"].engine == "torch"
    assert slowdowns.own(cell, {"SeqLen/512": Reference("native", "other")}) is None
    assert slowdowns.own(cell, {}) is None


def test_torch_of_ipex_s_environment_is_not_the_torch_of_other_cells(noise):
    noise.suite("Framework", "engine", ("torch", "ipex"))
    noise.cell("Framework", "torch", 0.042)
    noise.cell("Framework", "ipex", 0.08, settled(engine="ipex"), reference=0.08)
    noise.save()
    analysis = effects.analyse(rows.read(noise.root, "here")[0], {})
    assert "Framework/ipex" not in slowdowns.references(analysis.cells)
    known = usual.references(list(zip(analysis.cells, analysis.rows, strict=True)))
    of_torch, of_ipex = (known.of_cell[f"Framework/{name}"] for name in ("torch", "ipex"))
    assert of_torch != of_ipex
    assert math.exp(known.by_name[of_torch].log_s) == pytest.approx(0.042, rel=0.02)
    assert math.exp(known.by_name[of_ipex].log_s) == pytest.approx(0.08, rel=0.02)


def test_another_machine_is_compared_by_the_wider_interval(project):
    others_near(project)
    cells = sweep(project, *(passes(project, 0.033, 0.052, 345.0) for _ in range(2)))
    references = usual.references(cells)
    cell, row = next(each for each in cells if each[0].name == "SeqLen/512")
    wide, narrow = (
        math.sqrt(references.usual(cell, its).variance)
        for its in (row, row | {"places_differ": None})
    )
    assert (wide - narrow) * usual.SURE == pytest.approx(math.log(row["places_differ"]))


def test_a_tuning_takes_a_record_of_another_place_for_less_exact(project):
    others_near(project)
    project.suite("OmpWaitPolicy", "wait_policy", ("default", "passive"))
    project.record("OmpWaitPolicy", "default", [near(project, USUAL)])
    passive = worker(USUAL.but(wait_policy="passive"), steps(0.033, project.rng))
    project.record("OmpWaitPolicy", "passive", [at(beside(passive, 0.052, project.rng), 345.0)])
    project.save()
    cells, _ = rows.read(project.root, "here")
    analysis = effects.analyse(cells, {})
    row = next(r for c, r in zip(cells, analysis.rows, strict=True) if "passive" in c.name)
    (its,) = (each for each in of_records.known(analysis) if each.value == row["effect"])
    assert (its.low, its.high) == ends.interval(row) != (row["effect_low"], row["effect_high"])
