"""From a whole made-up sweep to its tables, plots and page."""

import polars as pl
import pytest
from made_project import failure, rows_of
from settled import settled

from cputrain.report.export import export

pytestmark = pytest.mark.tools

USUAL = settled()


def test_every_cell_of_every_suite_is_in_every_table(sweep):
    summary = export(sweep.root)
    expected = {
        (name, str(value).strip("'"))
        for name, benchmark in sweep.benchmarks.items()
        for value in benchmark["params"][0]
    }
    result = sweep.root / "result"
    for table in (pl.read_csv(result / "results.csv"), pl.read_parquet(result / "results.parquet")):
        assert set(zip(table["suite"], table["value"], strict=True)) == expected
    assert pl.read_csv(result / "here" / "SeqLen.csv").height == 5
    assert summary.problems == []
    assert all(path.stat().st_size for path in summary.files)
    assert (result / "here" / "plots" / "SeqLen.svg") in summary.files


def test_broken_files_are_named_once_and_cost_only_their_cell(sweep):
    output = sweep.root / "output" / "here"
    (output / "SeqLen" / "512" / "run.json").write_text('{"schema": 1, "sui')
    (sweep.root / "result" / "asv" / "here" / "deadbeef-x.json").write_text("{")
    peaks = sweep.root / "result" / "here" / "machine.json"
    peaks.parent.mkdir()
    peaks.write_text("[1]")
    summary = export(sweep.root)
    named = sorted(str(problem.path) for problem in summary.problems)
    assert named == [
        "output/here/SeqLen/512/run.json",
        "result/asv/here/deadbeef-x.json",
        "result/here/machine.json",
    ]
    assert all("\n" not in str(problem) for problem in summary.problems)
    found = rows_of(summary, "SeqLen")
    assert "not usable" in found["512"]["reason"]
    assert found["512"]["effect"] is None
    assert found["1024"]["effect"] > 4
    assert all(str(problem.path) in sweep.page() for problem in summary.problems)


def test_nothing_measured_yet(tmp_path):
    summary = export(tmp_path)
    assert (summary.rows, summary.problems) == ([], [])
    assert "Nothing was measured yet" in (tmp_path / "result" / "README.md").read_text()


def test_everything_failed(project):
    project.suite("SeqLen", "seq_len", (128, 256))
    for value in (128, 256):
        project.record("SeqLen", value, [failure(USUAL, "failed", "ImportError: no torch")])
        project.result("SeqLen", value, None)
    project.save()
    summary = export(project.root)
    assert [row["status"] for row in summary.rows] == ["failed", "failed"]
    assert "failed: ImportError: no torch" in project.page()
    assert "no cell of it has a number" in project.page()


def test_the_same_results_give_the_same_files(sweep):
    files = export(sweep.root).files
    first = {path: path.read_bytes() for path in files}
    assert {path: path.read_bytes() for path in export(sweep.root).files} == first


def test_every_cell_of_many_suites_is_there(project):
    for number in range(12):
        project.suite(f"Suite{number}", "x", (1, 2, 3, 4, 5))
        for value in range(1, 6):
            project.cell(f"Suite{number}", value, 0.01 * value)
    project.save()
    assert len(export(project.root).rows) == 60
