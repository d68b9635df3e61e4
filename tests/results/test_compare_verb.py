"""`bench.py compare` of machines: its page, tables and picture, and what it refuses."""

import json

import pytest
from made_compared import measured
from roots import take_root

from cputrain import paths
from cputrain.commands import cli
from cputrain.report.export import export

pytestmark = pytest.mark.tools


@pytest.fixture
def here(two, monkeypatch):
    take_root(monkeypatch, two.root)
    return two


def said(capsys):
    output = capsys.readouterr()
    return output.out + output.err


def test_the_verb_writes_page_tables_and_picture_and_the_index_links_them(here, capsys):
    assert cli.main(["compare", "old", "new"]) == 0
    text = said(capsys)
    assert "old beside new" in text and "slower (4 suites" in text and "cannot be paired" in text
    assert "weighs each by how surely it is told" in text
    folder = here.root / "result" / "compare"
    files = {f"old-new.{ending}" for ending in ("md", "csv", "parquet", "svg")}
    assert {path.name for path in folder.iterdir()} == files
    page = (folder / "old-new.md").read_text()
    assert "| torch | " in page and "pays on" in page and "![" in page
    assert "Drift between two machines cannot be paired away" in page
    export(here.root)
    assert "[old-new](compare/old-new.md)" in here.page()


def test_several_machines_stand_beside_the_first(here, capsys):
    measured(here, "third", 2.0)
    assert cli.main(["compare", "old", "new", "third"]) == 0
    page = (here.root / "result/compare/old-new-third.md").read_text()
    assert page.startswith("# old beside new, third\n") and "## Beside third" in page
    picture = (here.root / "result/compare/old-new-third.svg").read_text()
    assert "torch, new" in picture and "torch, third" in picture


def test_one_with_nothing_in_common_keeps_no_other_out(here, capsys):
    here.suite("Width", "n_embd", (128, 256))
    here.cell("Width", 256, 0.03, machine="lone")
    assert cli.main(["compare", "old", "lone", "new"]) == 0
    text = said(capsys)
    assert "old and lone have no experiment in common" in text and "old beside new" in text
    assert (here.root / "result/compare/old-new.md").is_file()


def test_the_examples_machine_is_known_from_the_start(here, capsys):
    shipped = json.loads((paths.PROJECT / "example/example.json").read_text())["machine"]
    assert cli.main(["compare", "old"]) == 2  # made experiments, and other numbers of parameters
    assert f"old and {shipped} have no experiment in common" in said(capsys)
    assert cli.main(["compare", shipped]) == 2
    assert f"one beside {shipped}, as in python3 bench.py compare new {shipped}" in said(capsys)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["old", "nwe"], "no records of a machine 'nwe'; did you mean new?"),
        (["old", "\x1b[31mzzzzzz"], "there are: "),
        (["old", "old"], "old is named twice: compare takes different machines"),
        ([], "compare needs two machines, known here: "),
    ],
)
def test_what_cannot_be_compared_is_one_line(here, capsys, words, line):
    assert cli.main(["compare", *words]) == 2
    text = said(capsys)
    assert line in text and len(text.splitlines()) == 1 and "\x1b" not in text
    assert not (here.root / "result" / "compare").exists()
