"""A page made of a copied machine's files: whatever stands in their fields is shown, not obeyed."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cputrain.analysis.noise_lines import NoiseLine
from cputrain.analysis.paired import noise
from cputrain.analysis.paired.model import Pass
from cputrain.record.cell import CellKey
from cputrain.report import index, machine_export, page, plots
from cputrain.report.kept import KeptExport
from cputrain.report.machine_page import MachinePage
from cputrain.report.picture import Picture
from cputrain.results import columns, tables
from cputrain.results import engines as engine_tables
from cputrain.results.machines import MachineFacts
from cputrain.results.records import Problem
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools

NOISE = noise.learn([Pass((0.01, -0.01, 0.0))])

texts = st.one_of(
    st.sampled_from(
        [
            "<script>alert(1)</script>",
            "[x](javascript:alert(1))",
            "a | b\n\n# c\n| d |",
            "\x1b]0;title\x07\x1b[31m",
            "`|` ![i](javascript:a) <!-- ",
            '=HYPERLINK("http://x")',
            "$x^{2$ \\frac \ud800",
        ]
    ),
    st.text(max_size=60),
)
numbers = st.one_of(st.none(), st.just(float("nan")), st.just(float("inf")), st.just(0.04))


def every_column(schema, text, number):
    """A row with the text and the number in each column."""
    by_type = {"String": text, "Float64": number, "Int64": 1, "Boolean": None}
    return {name: by_type[str(kind)] for name, kind in schema.items()}


def made(root, text, number):
    """A machine with several suites, whose every text is `text`."""
    known = 0.04 if number is None else number
    rows, cells = [], []
    for suite in ("Numbers", text):
        for i, value in enumerate((1, 2, text)):
            status = "ok" if i < 2 else "failed"
            values, names = (value, text), (text, "engine")
            key = CellKey(suite, values, names, text, text, f"1-{text}", i)
            step_s = 0.04 if i < 2 else None
            cells.append(CellResult(text, key, f"{value}-{text}", "full", status, text, step_s))
            row = every_column(columns.SCHEMA, text, number)
            row |= {"suite": suite, "value": cells[-1].value, "status": status, "engine": text}
            row |= {"mode": "full", "step_s": step_s}
            rows.append(row)
    facts = dict.fromkeys(("cpu", "num_cpu", "cores", "memory", "arch", "os", "ram"), text)
    machine = MachineFacts(text, facts, {"fp32": {"1": known}}, {"1": known}, text)
    beside = every_column(engine_tables.SCHEMA, text, number) | {"status": "ok", "step_s": 0.04}
    drawn = dict.fromkeys(("Numbers", text), root / "plots" / "p).svg")
    line = NoiseLine(text, text, NOISE, 3, 1, 20, known, 0.1)
    return MachinePage(machine, rows, cells, [line], drawn, (), [beside])


@settings(max_examples=40)
@given(text=texts, number=numbers)
def test_the_page_obeys_nothing_and_its_tables_are_whole(tmp_path_factory, text, number):
    root = tmp_path_factory.mktemp("page")
    shown, problems = made(root, text, number), [Problem(root / "x", text)]
    for written in all_pages(shown, problems):
        check(written, text)


def all_pages(shown, problems):
    """The texts of every page of a machine, and the index of it alone, beside others, of many."""
    yield from page.texts(shown).values()
    for place in page.PagePlace:
        its = page.section(shown, place)
        kept = KeptExport("", {}, machine_export.line(shown), its, [], [])
        yield its
        yield index.text([kept, kept], place, problems)


def check(written, text):
    """That nothing of the text is markup in a page that is written, and no table is broken."""
    assert "<script" not in written and "](javascript:" not in written and "\x1b" not in written
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(written)
    inline = [child for token in tokens for child in token.children or ()]
    assert not {"html_block", "html_inline"} & {token.type for token in (*tokens, *inline)}
    links = {token.attrs["href"] for token in inline if token.type == "link_open"}
    pictures = {token.attrs["src"] for token in inline if token.type == "image"}
    assert all(re.fullmatch(r"#?[\w.%/~-]*(#[\w-]+)?", link) for link in links | pictures)
    assert not any(link.startswith("//") for link in links | pictures)
    for table in re.findall(r"(?:^\|.*\n)+", written, re.MULTILINE):
        lines = [re.findall(r"(?<!\\)(?:\\\\)*\|", line) for line in table.splitlines()]
        assert len({len(pipes) for pipes in lines}) == 1, table
    own = re.sub(r"\d", "", text)
    if not re.search("nan|inf", own, re.IGNORECASE):
        assert not re.search(r"\b(nan|inf)\b", written)


@settings(max_examples=40)
@given(text=texts, number=numbers)
def test_a_table_has_no_formula_and_no_nan(tmp_path_factory, text, number):
    root = tmp_path_factory.mktemp("table")
    row = every_column(columns.SCHEMA, text, number) | {"machine": "m", "suite": "s"}
    tables.write_machine(root, "m", [row])
    tables.join(root, ["m"])
    back = tables.pl.read_csv(root / "results.csv", schema_overrides=columns.SCHEMA)
    assert back["step_s"][0] == (number if number == 0.04 else None)
    reason = back["reason"][0] or ""
    assert not re.match(r"\s*[=+@-](?!\d+$)", reason)
    assert "\x1b" not in (root / "results.csv").read_text()
    assert tables.pl.read_parquet(root / "results.parquet")["reason"][0] == (
        reason if back["reason"][0] is not None else ""
    )


@settings(max_examples=15)
@given(text=texts)
def test_a_picture_is_drawn_of_any_text(tmp_path_factory, text):
    shown = made(tmp_path_factory.mktemp("plot"), text, None)
    its = [(row, cell) for cell, row in shown.measured if cell.suite == "Numbers"]
    picture = Picture([row for row, _ in its], [cell for _, cell in its])
    drawn = plots.svg(picture)
    assert b"<script" not in drawn and b"\x1b" not in drawn
