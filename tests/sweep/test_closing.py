"""The table that closes a sweep."""

import io

import pytest
from found_suites import ALL
from rich.console import Console

from cputrain.results import columns
from cputrain.sweep import closing

pytestmark = pytest.mark.tools


def planned(name):
    return next(suite for suite in ALL if suite.name == name)


def row(suite, value, effect=None, verdict=None, further=None, status="ok", step_s=1.0):
    fields = dict.fromkeys(columns.SCHEMA) | {"machine": "here", "suite": suite, "value": value}
    fields |= {"status": status, "step_s": step_s if status == "ok" else None}
    if effect is not None:
        fields |= {"effect": effect, "effect_low": effect / 1.02, "effect_high": effect * 1.02}
        fields |= {"verdict": verdict, "further_passes": further}
    return fields


def lines(rows, *suites, width=100):
    """The lines of the table's body, each with its cells; a wrapped cell is joined."""
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(closing.table(rows, "here", [planned(name) for name in suites]))
    rows_of_body = []
    for line in console.export_text().splitlines():
        if line.startswith("│"):
            cells = [text.strip() for text in line.strip("│").split("│")]
            if cells[0]:
                rows_of_body.append(cells)
            else:
                rows_of_body[-1] = [
                    " ".join((a, b)).strip() for a, b in zip(rows_of_body[-1], cells, strict=True)
                ]
    return rows_of_body


def test_a_line_has_the_best_and_the_worst_cell_by_effect_and_not_by_seconds():
    rows = [
        row("OmpThreads", "4-torch", 1.01, "same", step_s=5.0),
        row("OmpThreads", "2-torch", 0.8, "faster", step_s=9.0),
        row("OmpThreads", "8-torch", 1.1, "slower", step_s=4.0),
        row("OmpThreads", "1-torch", 1.02, "not told", 3, step_s=1.0),
        row("OmpThreads", "128-torch", status="failed"),
        row("OmpThreads", "1-native"),
    ]
    torch, native = lines(rows, "OmpThreads", width=140)
    assert torch == [
        "OmpThreads, torch", "2: 0.800x [0.784, 0.816] faster", "8: 1.10x [1.08, 1.12] slower",
        "4 ok, 1 failed, 1 not told",
    ]  # fmt: skip
    # Nothing was measured beside its baseline: plain seconds.
    assert native == ["OmpThreads, native", "1: 1 s", "1: 1 s", "1 ok"]


def test_the_baseline_is_1_and_its_own_pairs_are_not_told_of():
    rows = [row("Compiler", "gcc_O2_native", 1.2, "slower")]
    base = planned("Compiler").baselines[0].name
    rows.append(row("Compiler", base, 0.9, "not told"))
    (line,) = lines(rows, "Compiler", width=140)
    assert line[1] == f"{base}: baseline" and line[3:] == ["2 ok"]


def test_seconds_of_cells_whose_pairs_do_not_count_are_not_compared():
    """0.2 of a second beside 2 would be read as ten times as fast."""
    base = planned("Compiler").baselines[0].name
    rows = [row("Compiler", base, step_s=2.0), row("Compiler", "gcc_O0_native", step_s=0.2)]
    rows[1]["dropped_pairs"] = 3
    (line,) = lines(rows, "Compiler", width=140)
    assert line == ["Compiler", "-", "-", "2 ok, 1 without an effect"]


@pytest.mark.parametrize("effect", [1.07, 14.5, 1000.0])
def test_a_narrow_terminal_cuts_off_no_number(effect):
    base = planned("Compiler").baselines[0].name
    rows = [row("Compiler", base), row("Compiler", "gcc_O0_native", effect, "slower")]
    (line,) = lines(rows, "Compiler", width=80)
    assert line[3:] == ["2 ok"]
    text = "".join(line[2].split())
    assert text.startswith("gcc_O0_native:") and text.endswith("slower") and "…" not in text


def test_the_suites_whose_cells_differ_most_come_first():
    rows = [row("OmpThreads", "4-torch"), row("OmpThreads", "8-torch", 1.1, "slower")]
    rows += [row("BatchSize", "1-torch"), row("BatchSize", "16-torch", 1.5, "slower")]
    order = [line[0] for line in lines(rows, "OmpThreads", "BatchSize", width=140)]
    assert order[:2] == ["BatchSize, torch", "OmpThreads, torch"]


def test_a_cell_without_a_usable_record_is_counted_for_its_engine():
    rows = [row("SeqLen", "128-jax", step_s=0.1), row("SeqLen", "256-jax", step_s=0.2)]
    rows += [row("SeqLen", "1024-jax", status="failed"), row("SeqLen", "128-torch", step_s=0.3)]
    cells = {name: rest for name, *rest in lines(rows, "SeqLen", width=140)}
    assert cells["SeqLen, jax"] == ["128: 100 ms", "256: 200 ms", "2 ok, 1 failed"]
    assert cells["SeqLen, torch"] == ["128: 300 ms", "128: 300 ms", "1 ok"]


def test_what_a_suite_does_not_have_any_more_is_not_counted_as_failed():
    rows = [row("SeqLen", "128-torch"), row("SeqLen", "100-torch", status="failed")]
    rows += [row("SeqLen", "200-torch"), row("SeqLen", "256-torch", status="failed")]
    cells = {name: rest for name, *rest in lines(rows, "SeqLen", width=140)}
    assert cells["SeqLen, torch"][-1] == "2 ok, 1 failed"
