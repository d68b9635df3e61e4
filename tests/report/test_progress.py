"""What a sweep prints."""

import io
import math

import pytest
from rich.console import Console

from cputrain.report.export import Summary
from cputrain.sweep import plan
from cputrain.sweep.progress import Progress, seconds

pytestmark = pytest.mark.tools


def shown(console):
    return console.export_text().splitlines()


@pytest.fixture
def console():
    return Console(record=True, width=80, file=io.StringIO(), highlight=False, soft_wrap=True)


def planned(name):
    return next(suite for suite in plan.discover() if suite.name == name)


def test_cells_of_long_names_stand_below_one_another(console):
    suite = planned("InductorCompiler")
    progress = Progress(1, console)
    progress.suite(suite)
    for cell in suite.cells:
        about = {"cell": cell.name, "step_s": 0.05, "tokens_per_step": 256, "disturbed": False}
        progress.event({"status": "ok", **about})
    progress.suite_done()
    places = {line.index(" a step") for line in shown(console) if " a step" in line}
    assert len(places) == 1


@pytest.mark.parametrize(
    ("slowest_s", "ratio"), [(0.0535, "1.07x"), (0.725, "14.5x"), (50, "1000x")]
)
def test_a_narrow_terminal_cuts_off_no_number(console, slowest_s, ratio):
    common = {
        "machine": "here",
        "suite": "Compiler",
        "status": "ok",
        "reason": None,
        "mode": "full",
    }
    rows = [
        {**common, "value": "gcc_Ofast_native_libiomp5", "step_s": 0.05},
        {**common, "value": "gcc_O0_native", "step_s": slowest_s},
    ]
    summary = Summary(rows=rows, problems=[], files=[])
    Progress(1, console).end(summary, "here", [planned("Compiler")], [], quick=False)
    (line,) = (line for line in shown(console) if line.startswith("│"))
    assert [text.strip() for text in line.split("│")[4:8]] == [ratio, "2", "0", "0"]


def test_a_cell_without_a_usable_record_is_counted_for_its_engine(console):
    common = {"machine": "here", "suite": "SeqLen", "reason": None, "mode": "full"}
    rows = [
        {**common, "value": "128-jax", "engine": "jax", "status": "ok", "step_s": 0.1},
        {**common, "value": "256-jax", "engine": "jax", "status": "ok", "step_s": 0.2},
        {**common, "value": "1024-jax", "engine": None, "status": "failed", "step_s": None},
        {**common, "value": "128-torch", "engine": "torch", "status": "ok", "step_s": 0.3},
    ]
    summary = Summary(rows=rows, problems=[], files=[])
    Progress(1, console).end(summary, "here", [planned("SeqLen")], [], quick=False)
    lines = [line.split("│")[1:8] for line in shown(console) if line.startswith("│ SeqLen, ")]
    cells = {
        name: numbers for name, *numbers in ([text.strip() for text in line] for line in lines)
    }
    assert cells["SeqLen, jax"] == ["128: 100 ms", "256: 200 ms", "2.00x", "2", "1", "0"]
    assert cells["SeqLen, torch"] == ["128: 300 ms", "128: 300 ms", "1.00x", "1", "0", "0"]


def test_a_reason_is_shown_and_neither_markup_nor_escapes_of_it_are_obeyed(console):
    Progress(1, console).say("failed: \x1b[31m[bold]no[/bold] [/nothing]\nloss")
    assert shown(console) == [
        "failed: \N{REPLACEMENT CHARACTER}[31m[bold]no[/bold] [/nothing] loss"
    ]


def test_a_machine_s_name_and_values_are_no_markup(console):
    row = {"machine": "[red]x", "suite": "Compiler", "status": "ok", "reason": None, "mode": "full"}
    rows = [{**row, "value": value, "step_s": 0.1} for value in ("[/b]", "\x1b[2J")]
    summary = Summary(rows=rows, problems=[], files=[])
    Progress(1, console).end(summary, "[red]x", [planned("Compiler")], [], quick=False)
    text = "\n".join(shown(console))
    assert "[red]x" in text and "[/b]: 100 ms" in text and "\x1b" not in text


def test_a_time_that_is_none_is_unknown():
    assert seconds(math.nan) == seconds(math.inf) == "unknown"
