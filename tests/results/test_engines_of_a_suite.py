"""Suites with the engine as a second parameter: their effects, their noise, table and picture."""

import re

import numpy as np
import pytest
from made_project import steps, worker

from cputrain.analysis.effects import analyse
from cputrain.experiment import Experiment
from cputrain.record.cell import CellKey
from cputrain.report import page, plots
from cputrain.report.page import MachinePage
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
    found = []
    for copy in "ABC":
        for engine, step_s in (("torch", 0.04), ("jax", 0.4)):
            found.append(cell("Baseline", "copy", copy, engine, step_s, rng))
    for value in (128, 256, 512, 1024, 2048):
        found.append(
            cell("SeqLen", "seq_len", value, "torch", 0.04 * value / 256, rng, seq_len=value)
        )
        reason = None if value < 1024 else "jax needs 9 GiB"
        jax_s = 0.4 * (value / 256) ** 2
        found.append(cell("SeqLen", "seq_len", value, "jax", jax_s, rng, reason, seq_len=value))
    return found


@pytest.fixture
def said(cells):
    return analyse(cells, {})


@pytest.fixture
def text(cells, said, tmp_path):
    """The page."""
    drawn = plots.draw_all(tmp_path / "here" / "plots", said.rows, cells, said.floors)
    machine = MachineFacts("here", {}, {})
    shown = MachinePage(machine, said.rows, cells, said.floors, said.pairs, drawn)
    return page.write(tmp_path, [shown], []).read_text()


def test_an_effect_is_against_the_same_engine_s_baseline(cells, said):
    effects = {cell.value: row["effect"] for cell, row in zip(cells, said.rows, strict=True)}
    assert effects["256-torch"] == effects["256-jax"] == 1.0
    assert effects["512-torch"] == pytest.approx(2, rel=0.1)
    assert effects["512-jax"] == pytest.approx(4, rel=0.1)
    assert not any(row["reason"] for row in said.rows if row["status"] == "ok")


def test_engines_are_no_noise_to_each_other(said):
    assert said.floors.keys() == {"torch", "jax"}
    assert max(said.floors.values()) < 0.2
    assert said.pairs.all == 6


def test_a_machine_without_the_baseline_of_one_engine_says_so(cells):
    left = [c for c in cells if c.value != "256-jax"]
    said = analyse(left, {})
    reasons = {c.value: row["reason"] for c, row in zip(left, said.rows, strict=True)}
    assert reasons["512-jax"] == "no baseline cell to compare with"
    assert reasons["512-torch"] is None


def test_the_page_has_a_column_of_engines(text):
    table = text[text.index("### SeqLen") : text.index("### Baseline")]
    assert "| seq_len | engine | step [99 %] |" in table
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
    assert "time per step against seq_len](here/plots/SeqLen.svg)" in table


def test_the_ranking_compares_each_engine_with_itself(text):
    (line,) = re.findall(r"^\| 1 \| \[SeqLen\]\(#seqlen\), torch \| .*$", text, re.MULTILINE)
    assert re.search(r"\| jax 1[5-7]\.\dx \|$", line)
    assert re.search(r"\| (1[4-8])\.\dx \| 128: [\d.]+ ms \| 2048: ", line)
    assert re.search(r"\(by engine: torch \d\.\d %, jax \d\.\d %\)", text)
