"""From a whole made-up sweep to its tables, plots and page."""

import subprocess
import sys

import polars as pl
import pytest
from made_project import failure, rows_of
from settled import settled

from cputrain.errors import RunError
from cputrain.report.export import export

pytestmark = pytest.mark.tools

USUAL = settled()


def test_every_cell_of_every_suite_is_in_every_table(sweep):
    summary = export(sweep.root)
    ran = sorted(sweep.benchmarks.keys() - {"Depth"})
    expected = {(name, str(value)) for name in ran for value in sweep.values[name]}
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
    (sweep.root / "result" / "asv" / "benchmarks.json").write_text('{"version": 2, "mod')
    peaks = sweep.root / "result" / "here" / "machine.json"
    peaks.parent.mkdir()
    peaks.write_text("[1]")
    summary = export(sweep.root)
    named = sorted(str(problem.path) for problem in summary.problems)
    assert named == [
        "output/here/SeqLen/512/run.json",
        "result/asv/benchmarks.json",
        "result/here/machine.json",
    ]
    assert all("\n" not in str(problem) for problem in summary.problems)
    rows = rows_of(summary, "SeqLen")
    assert "not usable" in rows["512"]["reason"]
    assert rows["512"]["effect"] is None
    assert rows["1024"]["effect"] > 4
    assert all(str(problem.path) in sweep.page() for problem in summary.problems)


def test_nothing_measured_yet(tmp_path):
    summary = export(tmp_path)
    assert (summary.machines, summary.problems) == ({}, [])
    assert "Nothing was measured yet" in (tmp_path / "result" / "README.md").read_text()


def test_everything_failed(project):
    project.suite("SeqLen", "seq_len", (128, 256))
    for value in (128, 256):
        project.record("SeqLen", value, [failure(USUAL, "failed", "ImportError: no torch")])
        project.result("SeqLen", value, None)
    project.save()
    summary = export(project.root)
    assert [row["status"] for row in summary.rows_of("here")] == ["failed", "failed"]
    assert "failed: ImportError: no torch" in project.page_of("SeqLen")
    assert "No cell of the baseline has a number" in project.page()
    assert "- Gave no number: SeqLen 128, SeqLen 256; the tables say why." in project.page()


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
    assert export(project.root).cells == 60


def test_tables_are_left_alone_where_no_record_can_be_used(sweep):
    """As after a copy without output/: asv's results alone make no row."""
    export(sweep.root)
    before = (sweep.root / "result" / "results.csv").read_bytes()
    (sweep.root / "output").rename(sweep.root / "elsewhere")
    with pytest.raises(RunError, match="no run records of this machine") as caught:
        export(sweep.root)
    assert "\n" not in str(caught.value)
    assert (sweep.root / "result" / "results.csv").read_bytes() == before


def test_a_machine_without_records_is_one_line_and_the_others_have_their_tables(sweep):
    sweep.cell("SeqLen", 256, 0.01, machine="other")
    sweep.save()
    (sweep.root / "output" / "other").rename(sweep.root / "elsewhere")
    summary = export(sweep.root)
    (problem,) = summary.problems
    assert str(problem.path) == "result/asv/other" and "no run records" in problem.reason
    assert summary.machines.keys() == {"here"}


def test_nothing_is_written_through_a_link(sweep, tmp_path_factory):
    away = tmp_path_factory.mktemp("away")
    (sweep.root / "result" / "here").symlink_to(away)
    summary = export(sweep.root)
    (problem,) = summary.problems
    assert str(problem.path) == "result/here" and "symbolic link" in problem.reason
    assert list(away.iterdir()) == []


def test_records_of_an_earlier_version_are_refused_file_by_file(sweep):
    path = sweep.root / "output" / "here" / "SeqLen" / "512" / "run.json"
    path.write_text(
        '{"schema": 1, "suite": "SeqLen", "value": [512], "cell": "512", "workers": []}'
    )
    summary = export(sweep.root)
    (problem,) = summary.problems
    assert "written by an earlier version: run the suite again, or delete it" in problem.reason
    assert rows_of(summary, "SeqLen")["1024"]["effect"] > 4


def test_what_is_exported_is_planned_nowhere(sweep):
    """The records carry what the tables need: no suite is looked at."""
    program = (
        "import sys; from pathlib import Path; from cputrain.sweep import exporting; "
        "from cputrain.report.export import export; export(Path(sys.argv[1])); "
        "assert not {'cputrain.sweep.plan', 'cputrain.run.suite'} & set(sys.modules)"
    )
    command = [sys.executable, "-c", program, str(sweep.root)]
    subprocess.run(command, check=True)
