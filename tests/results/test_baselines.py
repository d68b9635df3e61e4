"""A suite whose baseline has changed: what was measured beside the earlier one is not compared."""

import re
import shutil

import pytest
from made_project import rows_of
from settled import settled

from cputrain.analysis import effects, open_cells, ranking
from cputrain.analysis.noises import NoiseKey
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellKey, CellRecord
from cputrain.report.export import export
from cputrain.results import baselines, rows
from cputrain.results.baselines import Beside

pytestmark = pytest.mark.tools

USUAL = settled()
OLD = {"session": "20261120T110000-1", "run": "old", "started": "2026-11-20T11:00:00+00:00"}
LENGTHS = (128, 256, 512, 1024, 2048)
BEFORE = ("128", "256")
WHY = "measured beside another baseline (256)"


def length(project, seq_len, reference, **others):
    """As many seconds a step as tokens, in milliseconds, beside a reference's."""
    tokens = {"counts": {"tokens_per_step": seq_len, "flops_formula": seq_len * 10**8}}
    step_s, its = seq_len / 1000, USUAL.but(seq_len=seq_len)
    return project.cell(
        "SeqLen", seq_len, step_s, its, reference=reference / 1000, **tokens, **others
    )


@pytest.fixture
def moved(project):
    """All lengths beside 256, then the baseline was made 512, and there was no time for two."""
    project.suite("Baseline", "copy", ("A", "B", "C"))
    for copy in "ABC":
        project.cell("Baseline", copy, 0.042)
    project.suite("SeqLen", "seq_len", LENGTHS)
    for seq_len in (128, 256):
        length(project, seq_len, 256, **OLD)
    project.suite("SeqLen", "seq_len", LENGTHS, baseline=512)
    for seq_len in (512, 1024, 2048):
        length(project, seq_len, 512)
    project.save()
    return project


def analysed(project):
    cells, problems = rows.read(project.root, "here")
    assert not problems
    return effects.analyse(cells, {})


def paired(analysis):
    return list(zip(analysis.cells, analysis.rows, strict=True))


def reference(project, name, worker, experiment):
    """The record of what `worker` ran beside, in the folder of the baseline `name`."""
    key = CellKey("SeqLen", (128,), ("seq_len",), baseline=name)
    its = worker.but(
        id=worker.reference, experiment=experiment.to_json(), identity=experiment.identity,
        pairs=[], samples=[],
    )  # fmt: skip
    path = project.root / "output" / "here" / "SeqLen" / name / "references.json"
    known = files.read(path, CellRecord, SCHEMA).workers if path.exists() else []
    files.write(path, CellRecord(key=key, workers=[*known, its]))


def test_cells_beside_an_earlier_baseline_have_no_effect_and_say_why(moved):
    its = rows_of(export(moved.root), "SeqLen")
    for name in BEFORE:
        assert its[name]["reason"] == WHY
        assert its[name]["step_s"] == pytest.approx(int(name) / 1000, rel=0.05)
        assert its[name]["effect"] is its[name]["verdict"] is its[name]["further_passes"] is None
    assert its["1024"]["effect"] == pytest.approx(2, rel=0.05) and its["1024"]["reason"] is None


def test_they_are_in_no_range_exponent_or_forecast(moved):
    analysis = analysed(moved)
    (line,) = ranking.rank(paired(analysis))
    assert (line.fastest.cell.value, line.slowest.cell.value) == ("512", "2048")
    assert line.exponent == pytest.approx(1, abs=0.05)
    forecast = {candidate.key for candidate in open_cells.candidates(analysis)}
    assert forecast == {("SeqLen", "1024"), ("SeqLen", "2048")}


def test_the_page_has_one_baseline(moved):
    export(moved.root)
    table = moved.page_of("SeqLen")
    assert re.findall(r"^\| (\d+) \|.* baseline \|", table, re.MULTILINE) == ["512"]
    assert table.count(WHY) == 2


def test_an_earlier_baseline_still_tells_the_noise(moved):
    for cell in ("Baseline", "SeqLen/512"):
        shutil.rmtree(moved.root / "output" / "here" / cell)
    noise = analysed(moved).noises.learned[NoiseKey(OLD["session"], "torch")]
    assert noise.by_sort is not None
    assert noise.pairs.pairs == 12


def test_a_baseline_that_left_the_suite_leaves_the_others_beside_it(moved):
    moved.suite("SeqLen", "seq_len", LENGTHS, baseline=None)
    for seq_len in (512, 1024, 2048):
        moved.cell("SeqLen", seq_len, 0.1, USUAL.but(seq_len=seq_len), reference=None)
    known = {cell.value: row["reason"] for cell, row in paired(analysed(moved))}
    assert [known[str(seq_len)] for seq_len in LENGTHS] == [WHY, WHY, None, None, None]


@pytest.fixture
def edited(project):
    """The baseline is called 256 before and after, and its precision was changed between."""
    project.suite("SeqLen", "seq_len", LENGTHS)
    before = length(project, 128, 256, **OLD)
    now = length(project, 512, 256)
    for workers, base in ((before, USUAL), (now, USUAL.but(precision="bf16"))):
        for worker in workers:
            reference(project, "256", worker, base)
    return project


def test_a_baseline_of_the_same_name_and_another_experiment_is_another(edited):
    known = {cell.value: row for cell, row in paired(analysed(edited))}
    assert known["128"]["reason"] == "measured beside another baseline than 256 is now"
    assert known["128"]["effect"] is None and known["512"]["effect"] is not None


def test_without_records_of_references_the_names_tell(edited):
    (edited.root / "output" / "here" / "SeqLen" / "256" / "references.json").unlink()
    assert all(row["effect"] for _, row in paired(analysed(edited)))


def test_a_record_of_references_that_cannot_be_read_is_a_problem(edited):
    path = edited.root / "output" / "here" / "SeqLen" / "256" / "references.json"
    path.write_text("{")
    _, (problem,) = rows.read(edited.root, "here")
    assert problem.path == path and "not JSON" in problem.reason


def test_each_engine_has_a_baseline_of_its_own():
    cells = [
        Beside(("SeqLen", "torch"), "256-torch", "x", "old", "2026-11-20"),
        Beside(("SeqLen", "torch"), "512-torch", "y", "new", "2026-11-21"),
        Beside(("SeqLen", "jax"), "256-jax", "z", "old", "2026-11-20"),
    ]
    now = baselines.newest(cells)
    assert [now[cell.group].why_another(cell) for cell in cells] == [WHY, None, None]
