"""Suites with the engine as a second parameter: their effects, their noise, table and picture."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from made_project import SESSION, beside, steps, worker

from cputrain.analysis import noise_lines
from cputrain.analysis.effects import analyse
from cputrain.experiment import Experiment
from cputrain.record.cell import CellKey
from cputrain.report import html, page, picture, plots
from cputrain.report.machine_page import MachinePage
from cputrain.results.machines import MachineFacts
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools

ENGINES = {
    "torch": Experiment(),
    "jax": Experiment().but(engine="jax", compile="xla"),
}
BASELINES = {"Baseline": "A", "SeqLen": "256"}


def cell(suite, field, value, engine, step_s, rng, reason=None, **changes):
    """A cell of two parameters; it could not run where there is a reason."""
    experiment = ENGINES[engine].but(**changes)
    made = [worker(experiment, steps(step_s, rng)) for _ in range(2)] if reason is None else []
    made = [beside(record, {"torch": 0.04, "jax": 0.4}[engine], rng) for record in made]
    base = f"{BASELINES[suite]}-{engine}"
    key = CellKey(suite, (value, engine), (field, "engine"), baseline=base)
    return CellResult(
        machine="here",
        key=key,
        value=key.name,
        mode="full",
        status="skipped" if reason else "ok",
        reason=reason,
        step_s=None if reason else step_s,
        workers=tuple(made),
        experiment=experiment.to_json(),
    )


@pytest.fixture
def cells():
    """A/A cells of both engines, five lengths of which jax has three."""
    rng = np.random.default_rng(3)
    cells = []
    for copy in "ABC":
        for engine, step_s in (("torch", 0.04), ("jax", 0.4)):
            cells.append(cell("Baseline", "copy", copy, engine, step_s, rng))
    for value in (128, 256, 512, 1024, 2048):
        cells.append(
            cell("SeqLen", "seq_len", value, "torch", 0.04 * value / 256, rng, seq_len=value)
        )
        reason = None if value < 1024 else "jax needs 9 GiB"
        jax_s = 0.4 * (value / 256) ** 2
        cells.append(cell("SeqLen", "seq_len", value, "jax", jax_s, rng, reason, seq_len=value))
    return cells


@pytest.fixture
def analysis(cells):
    return analyse(cells, {})


@pytest.fixture
def shown(cells, analysis, tmp_path):
    """What the pages say."""
    drawn = plots.draw_all(tmp_path / "here" / "plots", analysis.rows, cells)
    machine = MachineFacts("here", {}, {})
    return MachinePage(machine, analysis.rows, cells, noise_lines.lines(analysis), drawn)


@pytest.fixture
def pages(shown, tmp_path):
    """Every page by its path."""
    own = {tmp_path / "here" / name: text for name, text in page.texts(shown).items()}
    return {tmp_path / "README.md": page.section(shown, page.PagePlace.ALONE), **own}


def test_an_effect_is_against_the_same_engine_s_baseline(cells, analysis):
    effects = {cell.value: row["effect"] for cell, row in zip(cells, analysis.rows, strict=True)}
    assert effects["256-torch"] == pytest.approx(1, rel=0.03)
    assert effects["256-jax"] == pytest.approx(1, rel=0.03)
    assert effects["512-torch"] == pytest.approx(2, rel=0.1)
    assert effects["512-jax"] == pytest.approx(4, rel=0.1)
    assert not any(row["reason"] for row in analysis.rows if row["status"] == "ok")


def test_engines_are_no_noise_to_each_other(analysis):
    lines = {line.engine: line for line in noise_lines.lines(analysis)}
    assert lines.keys() == {"torch", "jax"}
    assert all(line.noise.worst < 0.03 for line in lines.values())
    # Three copies and the baseline of SeqLen, two workers each.
    assert [(line.noise.identical, line.intervals) for line in lines.values()] == [(8, 4)] * 2


def noise_table(cells):
    """Heads and rows of the page's table of noise, the first two columns of each."""
    analysis = analyse(cells, {})
    lines = noise_lines.lines(analysis)
    shown = MachinePage(MachineFacts("here", {}, {}), analysis.rows, cells, lines, {})
    text = page.section(shown, page.PagePlace.ALONE).partition("## Noise")[2]
    return re.findall(r"^\| ([^|:]+) \| ([^|]+) \|", text.partition("\n## ")[0], re.MULTILINE)


def test_the_noise_of_several_sessions_says_whose_it_is(cells):
    assert [head for head, _ in noise_table(cells)] == ["engine", "torch", "jax"]
    assert noise_table(cells)[0] == ("engine", "A/A passes")
    later = [
        replace(cell, workers=tuple(its.but(session="later") for its in cell.workers))
        for cell in cells
        if cell.suite == "SeqLen"
    ]
    head, *rows = noise_table([cell for cell in cells if cell.suite != "SeqLen"] + later)
    assert head == ("engine", "session")
    assert sorted(rows) == [(e, s) for e in ("jax", "torch") for s in (SESSION, "later")]


def test_a_cell_has_an_effect_where_its_baseline_s_cell_is_not_there(cells):
    """Its reference ran beside it all the same."""
    left = [c for c in cells if c.value != "256-jax"]
    analysis = analyse(left, {})
    rows = {c.value: row for c, row in zip(left, analysis.rows, strict=True)}
    assert rows["512-jax"]["effect"] == pytest.approx(4, rel=0.1)
    assert rows["512-jax"]["reason"] is None


def test_a_suite_s_page_has_a_column_of_engines(pages, tmp_path):
    table, text = pages[tmp_path / "here" / "SeqLen.md"], pages[tmp_path / "README.md"]
    assert "| seq_len | engine | step | effect [99 %] | verdict | pairs (passes) |" in table
    heads = re.findall(r"^\| ([\w, ]+) \| (torch|jax) \|", table, re.MULTILINE)
    assert heads == [
        ("128", "torch"),
        ("128", "jax"),
        ("256", "torch"),
        ("256", "jax"),
        ("512", "torch"),
        ("512", "jax"),
        ("1024", "torch"),
        ("1024, 2048", "jax"),
        ("2048", "torch"),
    ]
    assert table.count("| baseline |") == 2
    assert table.count("skipped: jax needs 9 GiB") == 1
    assert "- SeqLen on jax (1024, 2048): jax needs 9 GiB" in text
    assert "time against seq_len](plots/SeqLen.svg)" in table


def test_each_engine_is_compared_with_itself(pages, tmp_path):
    text = pages[tmp_path / "README.md"]
    (line,) = re.findall(r"^\| \[SeqLen\]\(here/SeqLen.md\), torch \| .*$", text, re.MULTILINE)
    assert re.search(r"\| jax 0\.2\d+x to 4\.\d\dx \|$", line)
    assert re.search(r"\| 128: 0\.[45]\d+x .* \| 2048: [78]\.\d\dx .*\*\*slower\*\* \|", line)
    assert re.search(r"\| (0\.9\d+|1\.\d+) \|", line)  # torch's time is made to grow as its length


def test_the_report_has_the_colours_of_the_plots(shown, tmp_path):
    text = html.text(shown, tmp_path)
    colors = {name: picture.color(name, 0) for name in ENGINES}
    assert len(set(colors.values())) == 2
    named = re.findall(r'<span class="(\w+)" aria-hidden="true">&#9679;</span> (\w+)', text)
    assert named == [(color, name) for name, color in colors.items()]
    lines = re.findall(r'<g class="(\w+)"><polyline', text)
    identical = re.findall(
        r'<th scope="row">(\w+)</th>(?:<td class="n">.*?</td>)+<td class="(\w+)"><svg', text
    )
    assert lines == list(colors.values()) and dict(identical) == colors
    told = ElementTree.parse(tmp_path / "here" / "plots" / "SeqLen.svg")
    assert {g.get("class") for g in told.iter("{http://www.w3.org/2000/svg}g")} == set(
        colors.values()
    )
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)[1]
    assert all(f".{color}{{color:" in style for color in colors.values())
