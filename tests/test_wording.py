"""Text for people: counted words, and others' text made safe for one place."""

import html
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cputrain import wording

pytestmark = pytest.mark.tools

NASTY = (
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "![x](javascript:alert(1))",
    "a | b\n| c |\r\n# head",
    "\\| \\[x](y) \\<b> \\`z`",
    "\x1b[31mred\x1b]0;title\x07",
    "=HYPERLINK(\"http://x\",\"y\")",
    "`code` *bold* _it_ ~~gone~~ $x$ &lt;b&gt; &copy;",
    "<javascript:alert(1)> <a@b.org>",
    "\ud800 \u202egnp.exe \u2028next",
    "[red]markup[/red]",
)  # fmt: skip
texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(),
    st.lists(st.sampled_from(["<", ">", "[", "]", "(", ")", "!", "|", "\\", "`", "*", "_", "~",
                              "&", "#", "\n", "\x1b", "javascript:", "script", "a", " ", "lt;"]))
    .map("".join),
)  # fmt: skip


def test_one_is_no_plural():
    assert wording.counted(1, "suite") == "1 suite"
    assert wording.counted(0, "suite") == "0 suites"
    assert wording.counted(2, "process", "processes") == "2 processes"


@given(texts)
def test_a_terminal_is_told_nothing_but_what_is_seen(text):
    line = wording.one_line(text)
    assert len(line) == len(text)
    assert not {unicodedata.category(c) for c in line} & set(wording.UNSEEN)
    line.encode()


@given(texts)
@example("[x] (y) [z]: javascript:a")
@example("__0__")
def test_markdown_shows_the_text_and_obeys_nothing_of_it(text):
    written = f"Said: {wording.markdown(text)} end"
    assert "<" not in written and "\n" not in written and "](javascript:" not in written
    rendered = MarkdownIt("gfm-like", {"linkify": False}).render(written)
    (paragraph,) = re.findall(r"<p>(.*)</p>\n", rendered)
    assert not re.search(r"<(?!/?(p)\b)", paragraph)  # no tag: no link, no emphasis, no code
    shown = " ".join(wording.one_line(text).split())
    assert " ".join(html.unescape(paragraph).split()) == " ".join(f"Said: {shown} end".split())


@given(texts)
def test_in_a_table_it_is_one_cell(text):
    table = f"| a | b |\n|--|--|\n| {wording.markdown(text)} | last |\n"
    rendered = MarkdownIt("gfm-like", {"linkify": False}).render(table)
    assert rendered.count("<td>") == 2 and "<td>last</td>" in rendered


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+cmd", "@x", "\t=1", "\r=1", " =1", "\N{FULLWIDTH EQUALS SIGN}1"]
)
def test_a_formula_is_text_in_a_spreadsheet(text):
    assert wording.spreadsheet(text).startswith("'")


@pytest.mark.parametrize("text", ["-1", "+2.5", "-1e-3", "1=1", "gelu", "", "two\nlines"])
def test_numbers_and_other_text_stay_as_they_are(text):
    assert wording.spreadsheet(text) == text


@given(texts)
def test_no_cell_of_a_spreadsheet_begins_like_a_formula(text):
    cell = wording.spreadsheet(text)
    assert not re.match(r"[\s]*[=+@-]", cell) or re.fullmatch(r"[+-]?[\d.]+([eE][+-]?\d+)?", cell)
    assert "\x1b" not in cell
    cell.encode()
