"""Pages of `compare` are linked from the index and from the report, as soon as they are there."""

from functools import partial

import polars as pl
import pytest
from made_comparison import record, usual
from made_project import Project

from cputrain.analysis.releases.compared import compare
from cputrain.record import files
from cputrain.report import comparisons, releases
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
    """By the machines in its table: "here" is no part of "here-2"."""
    folder = measured / "result" / "compare"
    folder.mkdir()
    compared = {"here-there": ("here", "there"), "a-b": ("a", "b"), "here-2-b": ("here-2", "b")}
    for name, (machine, beside) in compared.items():
        (folder / f"{name}.md").write_text("# x\n")
        table = pl.DataFrame({"machine": [machine], "beside": [beside], "suite": ["SeqLen"]})
        table.write_parquet(folder / f"{name}.parquet")
    index, html = pages(measured)
    assert "[here-there](compare/here-there.md)" in index and "[a-b]" in index
    assert '<a href="../compare/here-there.md">here-there</a>' in html
    assert "a-b" not in html and "here-2-b" not in html
    assert comparisons.of_machines(measured / "result", "here-2") == ["here-2-b"]
    (folder / "here-there.parquet").write_text("no table")
    assert comparisons.of_machines(measured / "result", "here") == []


def test_names_that_make_the_same_words_are_files_of_their_own(tmp_path):
    table = pl.DataFrame({"machine": ["a-b"] * 2, "beside": ["c", "d"]})
    table.write_parquet(tmp_path / "a-b-c-d.parquet")
    name = partial(comparisons.name_of, tmp_path)
    assert name(["a-b", "c", "d"]) == "a-b-c-d" and name(["x", "y"]) == "x-y"
    others = {name(["a", "b-c", "d"]), name(["a-b", "d", "c"]), name(["a-b", "c-d"])}
    assert len(others) == 3 and "a-b-c-d" not in others
    long = ["m" * 60 + str(number) for number in range(5)]
    assert len({name(long), name([*long, "n"])}) == 2
    assert all(len(its) == 200 for its in (name(long), name([*long, "n"])))
