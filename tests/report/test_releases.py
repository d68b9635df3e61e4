"""The page and the lines of a comparison."""

import pytest
from made_comparison import record, taken, usual

from cputrain.analysis.releases.causes import Difference
from cputrain.analysis.releases.compared import compare
from cputrain.report import releases

pytestmark = pytest.mark.tools


def test_the_page_has_ratio_verdict_cause_noise_and_what_was_left_out(tmp_path):
    own = {"readings": {"isa": "AVX2"}}
    known = record([*usual(1.2, own=own), taken(1.2, cell="jax", losses=2.0)])
    path = releases.write(tmp_path, known, compare(known), ["Width/512"])
    text = path.read_text()
    assert path == tmp_path / "here" / "compare" / f"{known.session}.md"
    assert "| slower |" in text and "backward 1.3" in text and "isa: not there -\\&gt;" not in text
    assert "| one | 1 | 2 |" in text and "Geometric mean of 1 cell" in text
    assert "no ratio" in text and "losses do not agree" in text
    assert "A/A pairs of workers" in text and "Width/512: no time" in text


def test_what_differs_alike_in_two_cells_is_listed_once(tmp_path):
    alike, other = {"readings": {"isa": "AVX2"}}, {"readings": {"isa": "SSE"}}
    cells = [("torch", alike), ("jax", alike), ("numpy", other)]
    known = record([pair for cell, own in cells for pair in usual(cell=cell, own=own)])
    text = releases.write(tmp_path, known, compare(known), []).read_text()
    headings = [line for line in text.splitlines() if line.endswith("what was in force")]
    assert headings == [
        "### Framework/torch, Framework/jax: what was in force",
        "### Framework/numpy: what was in force",
    ]


@pytest.mark.parametrize(
    ("before", "after", "phrase"),
    [
        ("v3.11 (Git Hash 1a)", "v3.12 (Git Hash 2b)", "oneDNN: v3.11 -> v3.12"),
        (
            "v3.12 (Git Hash 1a)",
            "v3.12 (Git Hash 2b)",
            "v3.12 (Git Hash 1a) -> v3.12 (Git Hash 2b)",
        ),
        ("(none)", "v3.12", "oneDNN: (none) -> v3.12"),
    ],
)
def test_a_commit_stands_in_the_phrase_where_it_is_what_differs(before, after, phrase):
    assert Difference("oneDNN", before, after).words.endswith(phrase)


def test_the_lines_say_the_same(tmp_path):
    known = record(usual(1.2))
    lines = releases.table(known, compare(known))
    assert lines[0] == "versions: one 1 -> 2"
    assert any("Framework/torch" in line and "slower" in line for line in lines)
    assert any("geometric mean of all (1 cell)" in line for line in lines)


def test_hostile_text_is_shown_and_not_obeyed(tmp_path):
    known = record(usual(1.2), labels=("<img src=x>|", "b[c](d)"))
    text = releases.write(tmp_path, known, compare(known), []).read_text()
    assert "<img" not in text and "[c](d)" not in text
