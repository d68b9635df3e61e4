"""What a sweep prints."""

import io
import math
from pathlib import Path

import pytest
from found_suites import ALL
from msgspec import structs
from rich.console import Console

from cputrain.record.events import WorkerEnded
from cputrain.report.export import Summary
from cputrain.report.kept import KeptExport, Line
from cputrain.results import columns, tables
from cputrain.sweep import progress as progress_module
from cputrain.sweep.console import seconds
from cputrain.sweep.durations import Durations
from cputrain.sweep.progress import Progress

pytestmark = pytest.mark.tools


def shown(console):
    return console.export_text().splitlines()


@pytest.fixture
def console():
    return Console(record=True, width=80, file=io.StringIO(), highlight=False, soft_wrap=True)


def planned(name):
    return next(suite for suite in ALL if suite.name == name)


def ended(suite, cell, training_s, **others):
    return WorkerEnded(
        at=0.0,
        suite=suite.name,
        cell=cell.name,
        status="ok",
        reason=None,
        step_s=0.05,
        tokens_per_step=256,
        disturbed=False,
        wall_s=training_s,
        note=None,
        effect=1.0,
        training_s=training_s,
        **others,
    )


def test_cells_of_long_names_stand_below_one_another(console):
    suite = planned("InductorCompiler")
    progress = Progress(console)
    progress.call([suite])
    for cell in (cell for cell in suite.cells if cell.why_not is None):  # others are not told
        progress.event(ended(suite, cell, training_s=2.0))
    progress.call_done()
    places = {line.index(" a step") for line in shown(console) if " a step" in line}
    assert len(places) == 1


def test_a_cell_that_has_a_number_in_the_end_has_not_failed(console):
    suite = planned("SeqLen")
    progress, good = Progress(console), ended(suite, suite.cells[1], 2.0)
    bad = structs.replace(good, status="failed", reason="killed", step_s=None)
    progress.call([suite])
    progress.event(bad)
    progress.event(bad)
    assert progress.failed == 1
    progress.event(good)
    assert progress.failed == 0
    progress.event(good)
    assert progress.failed == 0


def test_a_baseline_has_no_ratio_and_a_cell_that_ran_elsewhere_says_where(console):
    suite, other = planned("SeqLen"), planned("Width")
    progress = Progress(console)
    progress.begin("here", [suite, other], [suite, other], Durations(()), 0.0)
    progress.call([other, suite])
    progress.event(ended(other, other.cells[1], 2.0, is_baseline=True))
    progress.event(ended(suite, suite.cells[0], 2.0, repeats="Width/256-torch"))
    progress.event(ended(suite, suite.cells[1], 2.0))
    progress.call_done()
    lines = shown(console)
    assert [line.split("tokens/s")[1].strip() for line in lines if "tokens/s" in line] == [
        "baseline",
        "1.00x",
    ]
    (other_place,) = (line for line in lines if "same as" in line)
    assert other_place.split() == [suite.cells[0].name, "same", "as", "Width/256-torch"]
    # Suites are numbered as they begin, which asv decides, so that the numbers ascend.
    assert [line.split()[:2] for line in lines if line.startswith("[")] == [
        ["[1/2]", "Width"],
        ["[2/2]", "SeqLen"],
    ]


def test_a_reason_is_shown_and_neither_markup_nor_escapes_of_it_are_obeyed(console):
    Progress(console).say("failed: \x1b[31m[bold]no[/bold] [/nothing]\nloss")
    assert shown(console) == [
        "failed: \N{REPLACEMENT CHARACTER}[31m[bold]no[/bold] [/nothing] loss"
    ]


def test_a_machine_s_name_and_values_are_no_markup(console, tmp_path):
    row = dict.fromkeys(columns.SCHEMA) | {"machine": "[red]x", "suite": "Compiler"}
    row |= {"status": "ok", "mode": "full"}
    rows = [{**row, "value": value, "step_s": 0.1} for value in ("[/b]", "\x1b[2J")]
    tables.write_machine(tmp_path, "[red]x", rows)
    line = Line("[red]x", "", "", "", 2, 2, None, None, None, "", "", [])
    summary = Summary(tmp_path, {"[red]x": KeptExport("", {}, line, "", [], [])})
    Progress(console).end(summary, "[red]x", [planned("Compiler")], [], quick=False)
    text = "\n".join(shown(console))
    assert "[red]x" in text and "[/b]: 100 ms" in text and "\x1b" not in text


def test_the_share_of_the_time_in_training_steps_is_told(console, monkeypatch):
    now = iter([1000.0, 1240.0])
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: next(now, 1240.0))
    progress, suite = Progress(console), planned("SeqLen")
    progress.call([suite])
    for cell in suite.cells[:2]:
        progress.event(ended(suite, cell, training_s=30.0))
    progress.call_done()
    progress.end(Summary(Path()), "m", [], [], quick=False)
    assert "4 min in all, 25 % of it in training steps" in shown(console)


def test_a_time_that_is_none_is_unknown():
    assert seconds(math.nan) == seconds(math.inf) == "unknown"
