"""Other commits that `asv run A..B` has measured, and pages of `compare`, are found and linked."""

import re

import pytest
from made_project import Project

from cputrain.report.export import export

pytestmark = pytest.mark.tools
OLD, OLDER = "abcdef012345", "0123456789ab"


@pytest.fixture
def measured(sweep):
    """The sweep, and two other commits with a suite of it."""
    for commit, factor in ((OLD, 1.0), (OLDER, 2.0)):
        other = Project(sweep.root / ".asv" / "asv-run" / commit)
        other.suite("SeqLen", "seq_len", (256, 512))
        other.cell("SeqLen", 256, 0.042 * factor, reference=0.042 * factor)
        other.cell("SeqLen", 512, 0.084 * factor, reference=0.042 * factor)
    return sweep


def test_each_commit_has_a_column_with_steps_and_effects(measured):
    summary = export(measured.root)
    text = measured.page_of("commits")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[0] == (f"| cell | {OLDER}, 2026-11-21 | {OLD}, 2026-11-21 | in the tables |")
    told = {line.split(" | ")[0].strip("| "): line for line in lines[2:]}
    assert set(told) == {"SeqLen/256", "SeqLen/512"}
    older, old, own = told["SeqLen/512"].strip("|").split(" | ")[1:]
    assert re.match(r"16\d ms, (1\.9|2\.0)\dx .* slower", older)
    assert re.match(r"8\d\.\d ms, (1\.9|2\.0)", old) and re.match(r"8\d\.\d ms", own)
    assert "baseline" in told["SeqLen/256"]
    assert "asv compare A B" in text and "bench.py publish" in text
    assert "[other commits, by asv run](here/commits.md)" in measured.page()
    assert not summary.problems and export(measured.root).made == []


def test_records_of_a_commit_that_cannot_be_read_are_one_line(measured):
    for path in (measured.root / ".asv" / "asv-run" / OLD).rglob("run.json"):
        path.write_text('{"schema": 0}')
    (problem,) = export(measured.root).problems
    assert "2 files of it cannot be used" in str(problem) and OLD in str(problem)
    assert "16" in measured.page_of("commits")


def test_without_other_commits_there_is_no_page(sweep):
    export(sweep.root)
    assert not (sweep.root / "result" / "here" / "commits.md").exists()
