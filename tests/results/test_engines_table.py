"""The table of engines side by side: as it was written, and on the page."""

import io
import re

import polars as pl
import pytest
from made_engines import run
from rich.console import Console

from cputrain import paths
from cputrain.analysis.side_by_side import ratios
from cputrain.analysis.side_by_side.ratios import DISTURBED
from cputrain.report import engines as shown
from cputrain.report.export import export
from cputrain.results import engines
from cputrain.results.records import Problem
from cputrain.sweep.progress import Progress
from cputrain.sweep.side_by_side.shown import TurnsPrinter

pytestmark = pytest.mark.tools

RATIOS = {"torch": 1.0, "jax": "no | jax\nhere", "numpy": 0.7}
PEAKS = {"fp32": {"1": 1e12, "2": 2e12}}


def write(root, machine="here", mode="full", **others):
    """A table as the verb writes it; its path and rows."""
    rows = ratios.analyse(run({**RATIOS, **others}, machine=machine, mode=mode), PEAKS)
    path = root / "result" / machine / paths.ENGINES[mode]
    engines.write(path, rows)
    return path, rows


def test_what_is_read_is_what_was_written(tmp_path):
    path, rows = write(tmp_path)
    read_rows, problems = engines.read(tmp_path / "result", "here")
    assert problems == [] and len(read_rows) == len(rows) == 12
    for row, other in zip(read_rows, rows, strict=True):
        assert list(row) == list(engines.SCHEMA)
        for name, value in other.items():
            if name == "reason" and value:
                assert row[name].split() == value.split()
            else:
                approx = pytest.approx(value, rel=1e-5) if isinstance(value, float) else value
                assert row[name] == approx, name
    assert path.read_text().count("no | jax") == 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("step_s,", "step,"),
        (",ok,", ",fine,"),
        (",failed,", ",ok,"),
        ("0.05", "never"),
    ],
)
def test_a_broken_table_is_one_problem_and_loses_nothing_else(sweep, old, new):
    path, _ = write(sweep.root)
    text = path.read_text()
    path.write_text(text.replace(old, new) if old else "")
    summary = export(sweep.root)
    (problem,) = summary.problems
    assert str(problem.path) == "result/here/engines.csv"
    assert "bench.py engines" in problem.reason and "\n" not in problem.reason
    page = sweep.page()
    assert "engines side by side" not in page and "(here/SeqLen.md)" in page
    assert page.count("engines.csv") == 1


def test_a_terminal_shows_every_ratio_whole(tmp_path):
    """In the usual 80 columns, also where names are long and an end lies near 1."""
    console = Console(record=True, width=80, file=io.StringIO())
    rows = write(tmp_path, **{"native openblas": 1.3, "torch inductor": 1.0})[1]
    near = {"over_torch": 1.204, "over_torch_low": 1.0043, "verdict": "not told"}
    rows = [row | near if row["value"] == "native openblas" else row for row in rows]
    TurnsPrinter(Progress(console), []).table(rows)
    text = console.export_text()
    assert "…" not in text and re.search(r"numpy .* 0\.7\d*x \[.*\] │ faster ", text)
    assert re.search(r"native openblas .* 1\.204x \[1\.004, .*\] │ not told ", text)
    assert "jax: failed: no | jax" in text


def test_a_table_that_is_cut_off_is_a_problem(tmp_path):
    path, _ = write(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 1500])
    assert isinstance(engines.read_file(path), Problem)


def test_the_section_survives_every_export(sweep):
    write(sweep.root)
    sweep.suite("Framework", "engine", ("torch",), description="What trains.")
    sweep.cell("Framework", "torch", 0.05)
    for _ in range(2):
        assert export(sweep.root).problems == []
    assert "[engines side by side](here/engines.md)" in sweep.page()
    section = page = sweep.page_of("engines")
    opening = "3 rounds of fresh workers beside torch, in an order shuffled by seed 77"
    assert f"{opening}, at commit ccc" in section
    assert re.search(r"Two workers of torch lie up to [01]\.\d % apart\.", section)
    assert "Framework: What trains." in section and "\nFrameworkLarger\n" in section
    lines = re.findall(r"^\| \d \| .*$", section, re.MULTILINE)
    assert len(lines) == 12
    assert [len(re.split(r"(?<!\\)\|", line)) - 2 for line in lines] == [len(shown.HEAD)] * 12
    assert re.search(
        r"\| 1 \| torch \| (49|50)\.\d ms \| [\d.]+x \[.*\] \|  \| 300 ms \| 2\.00 s \| 381 MiB",
        page,
    )
    assert re.search(r"\| 2 \| numpy \| 3[45]\.\d ms \| \*\*0\.7\d*x \[.*\]\*\* \| faster \|", page)
    assert len(re.findall(r"failed: no \\\| jax here \|$", section, re.MULTILINE)) == 4


def test_a_machine_that_has_nothing_else_is_on_the_page(sweep):
    write(sweep.root, machine="other")
    export(sweep.root)
    page = sweep.page()
    assert "# Engines side by side on other" in sweep.page_of("engines", "other")
    assert "torch 2.13.0+cpu, numpy 2.4.6" in page[page.index("## other") :]


def test_a_quick_table_stands_where_there_is_no_full_one(tmp_path):
    write(tmp_path, mode="quick")
    rows, _ = engines.read(tmp_path / "result", "here")
    assert {row["mode"] for row in rows} == {"quick"}
    assert shown.opening(rows).endswith("(quick).")
    path, _ = write(tmp_path)
    assert {row["mode"] for row in engines.read(tmp_path / "result", "here")[0]} == {"full"}
    path.write_text("broken")
    rows, (problem,) = engines.read(tmp_path / "result", "here")
    assert {row["mode"] for row in rows} == {"quick"} and problem.path == path


def test_a_table_of_before_engines_were_paired_is_read(tmp_path):
    path, _ = write(tmp_path)
    table = pl.read_csv(path).drop(engines.SAID).with_columns(above_noise=pl.lit(True))
    path.write_text(table.write_csv())
    rows, problems = engines.read(tmp_path / "result", "here")
    assert problems == [] and {row["verdict"] for row in rows} == {None}
    assert "Two workers" not in shown.opening(rows)
    assert shown.markdown(rows[2])[3].startswith("0.7")


def test_a_note_says_how_many_pairs_were_dropped(tmp_path):
    row = write(tmp_path)[1][2]
    assert shown.texts({**row, "dropped_pairs": 4})[-1] == "4 of 40 pairs dropped"
    every = {**row, "over_torch": None, "pairs": None, "dropped_pairs": 6, "reason": DISTURBED}
    assert shown.texts(every)[-1] == f"{DISTURBED}; 6 of 6 pairs dropped"


def test_a_run_of_which_nothing_ran_is_told(tmp_path):
    failed = dict.fromkeys(RATIOS, "no data")
    _, rows = write(tmp_path, **failed)
    assert {row["status"] for row in rows} == {"failed"}
    assert [shown.texts(row)[-1] for row in rows] == ["failed: no data"] * 12
