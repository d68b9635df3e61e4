"""Pages of `compare` are linked from the index and from the report, as soon as they are there."""

import pytest
from made_comparison import record, usual
from made_project import Project

from cputrain.analysis.releases.compared import compare
from cputrain.record import files
from cputrain.report import releases
from cputrain.report.export import export

pytestmark = pytest.mark.tools


@pytest.fixture
def measured(tmp_path):
    project = Project(tmp_path)
    project.suite("SeqLen", "seq_len", (256, 512))
    project.cell("SeqLen", 256, 0.042)
    project.save()
    export(tmp_path)
    return tmp_path


def pages(root):
    summary = export(root)
    assert not summary.problems
    names = ("README.md", "here/report.html")
    return [(root / "result" / name).read_text() for name in names]


def test_a_comparison_of_releases_is_linked_by_what_it_compares(measured):
    known = record(usual(), labels=("one==1", "one==<2>"))
    place = measured / "output" / "here" / "compare" / known.session / "compare.json"
    files.write(place, known)
    releases.write(measured / "result", known, compare(known), [])
    index, html = pages(measured)
    title = "one==&lt;2&gt; beside one==1, 2026-11-23"
    assert f"[{title}](here/compare/{known.session}.md)" in index
    assert f'<a href="compare/{known.session}.md">{title}</a>' in html
    place.unlink()
    index, html = pages(measured)
    assert f"[{known.session}](here/compare/{known.session}.md)" in index


def test_a_comparison_of_machines_is_linked_from_the_report_of_each(measured):
    folder = measured / "result" / "compare"
    folder.mkdir()
    for name in ("here-there", "a-b", "nowhere-b"):
        (folder / f"{name}.md").write_text("# x\n")
    index, html = pages(measured)
    assert "[here-there](compare/here-there.md)" in index and "[a-b]" in index
    assert '<a href="../compare/here-there.md">here-there</a>' in html
    assert "a-b" not in html and "nowhere-b" not in html
