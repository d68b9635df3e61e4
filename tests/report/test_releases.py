"""The page and the lines of a comparison."""

import pytest
from made_comparison import record, taken, usual

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
