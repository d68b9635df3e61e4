"""What comes in is shown in pages, tables and on a terminal, and obeyed nowhere."""

import re

import pytest
from made_packs import EVIL, lines_of, packed, put
from made_project import Project, worker
from markdown_it import MarkdownIt
from roots import take_root
from settled import settled

from cputrain.commands import cli
from cputrain.record.cell import CellKey
from cputrain.report.export import export
from cputrain.results.exchange import merged

pytestmark = pytest.mark.tools


@pytest.fixture
def evil(tmp_path):
    """A packed file whose every free text means harm."""
    project = Project(tmp_path / "evil")
    project.suite("SeqLen", "seq_len", (128, 256), description=EVIL)
    project.keys["SeqLen"] = CellKey("SeqLen", (256,), ("seq_len",), EVIL, EVIL, "256")
    others = {
        "versions": {"torch": EVIL, EVIL: EVIL},
        "commit": EVIL,
        "note": EVIL,
        "session": EVIL,
    }
    project.cell("SeqLen", 256, 0.04, **others)
    project.cell("SeqLen", 128, 0.02, settled().but(seq_len=128), **others)
    project.record("Depth", 4, [worker(settled(), [], status="failed", reason=EVIL)])
    project.save(machine={"cores": "2", "cpu": EVIL, "kernel": EVIL})
    return packed(project, tmp_path)


def test_pages_and_tables_show_what_means_harm_and_obey_nothing(evil, clone, monkeypatch, capsys):
    (came,) = merged.merge(clone, [evil])
    assert came.added == 3 and came.refused == []
    summary = export(clone)
    assert summary.cells == 3
    for page in (clone / "result").rglob("*.md"):
        text = page.read_text()
        tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
        inline = [child for token in tokens for child in token.children or ()]
        assert not {"html_block", "html_inline"} & {t.type for t in (*tokens, *inline)}
        links = [t.attrs["href"] for t in inline if t.type == "link_open"]
        assert not any("javascript" in link for link in links) and "\x1b" not in text
    for page in (clone / "result").rglob("*.html"):
        assert "<img src=x" not in page.read_text() and "\x1b" not in page.read_text()
    for table in (clone / "result").rglob("*.csv"):
        text = table.read_text()
        assert "\x1b" not in text and not re.search(r'(?m)(^|,)"?[=+@-][A-Za-z]', text)


def test_the_terminal_gets_no_escapes(evil, path, tmp_path, monkeypatch, capsys):
    take_root(monkeypatch, tmp_path / "root")
    head, *members = lines_of(path)
    bad = put(tmp_path / "bad.gz", [head, members[0] | {"name": f"\x1b[31m{EVIL}"}, *members[1:]])
    assert cli.main(["merge", str(bad), str(evil)]) == 1
    said = capsys.readouterr().out
    assert "\x1b" not in said and "3 records added" in said and "is no name that pack gives" in said
