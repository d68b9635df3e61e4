"""How long suites are expected to take."""

from dataclasses import replace

import pytest
from found_suites import ALL

from cputrain.sweep.durations import SUITE_S, TAKE_OVER_S, Durations
from cputrain.sweep.fitting import fit

pytestmark = pytest.mark.tools

KNOWN = Durations([])


def suite(name, letter):
    """The cells of a suite that can run, in a place of asv's order."""
    (planned,) = (p for p in ALL if p.name == name)
    cells = tuple(replace(cell, why_not=None) for cell in planned.cells)
    return replace(planned, benchmark=f"{letter}.{name}", cells=cells)


def test_what_repeats_another_cell_takes_no_measurement():
    first, again = suite("SeqLen", "a"), suite("SeqLen", "b")
    alone = KNOWN.suites_s([first])[first.key]
    cells_s = sum(KNOWN.cell_s(first, cell) for cell in first.cells)
    assert alone == pytest.approx(SUITE_S + cells_s)
    renamed = replace(again, stack="other")
    seconds = KNOWN.suites_s([renamed, first])
    assert seconds[first.key] == alone
    assert seconds[renamed.key] == pytest.approx(SUITE_S + TAKE_OVER_S * len(again.cells))


def test_another_reference_is_another_measurement():
    first, again = suite("SeqLen", "a"), suite("SeqLen", "b")
    cells = tuple(replace(cell, reference="another") for cell in again.cells)
    renamed = replace(again, stack="other", cells=cells)
    seconds = KNOWN.suites_s([first, renamed])
    assert seconds[renamed.key] == pytest.approx(seconds[first.key])


def test_identical_cells_are_measured_each():
    planned = suite("Baseline", "a")
    seconds = KNOWN.suites_s([planned])[planned.key]
    assert seconds == SUITE_S + sum(KNOWN.cell_s(planned, cell) for cell in planned.cells)


def test_code_that_the_session_has_compiled_is_not_waited_for_again():
    planned = suite("JitWarmup", "a")
    cold, warm, steady = (c for c in planned.cells if c.engine == "torch")
    cold_only = KNOWN.suites_s([replace(planned, cells=(cold,))])[planned.key]
    all_ = KNOWN.suites_s([replace(planned, cells=(cold, warm, steady))])[planned.key]
    alone = sum(KNOWN.cell_s(planned, cell) for cell in (warm, steady))
    assert all_ - cold_only < alone - 50


def test_what_a_stopped_first_pass_has_measured_is_taken_over():
    planned = suite("SeqLen", "a")
    first, second, *others = planned.cells
    going_on = Durations([], [("SeqLen", first.name), ("SeqLen", second.name)])
    rest = sum(KNOWN.cell_s(planned, cell) for cell in others)
    seconds = going_on.suites_s([planned])[planned.key]
    assert seconds == pytest.approx(SUITE_S + 2 * TAKE_OVER_S + rest)
    assert going_on.cell_s(planned, first, pairs=8) == KNOWN.cell_s(planned, first, pairs=8)


def test_a_suite_that_is_longer_than_a_run_gets_further_with_each():
    planned = suite("SeqLen", "a")
    cell_s = max(KNOWN.cell_s(planned, cell) for cell in planned.cells)
    budget_s = SUITE_S + 1.5 * cell_s + TAKE_OVER_S * len(planned.cells)
    done, runs = [], 0
    while len(done) < len(planned.cells):
        estimate = Durations([], done)
        seconds = estimate.suites_s([planned])
        (part,) = fit([planned], seconds, estimate.cell_s, budget_s).suites
        assert len(part.cells) > len(done)
        done, runs = [(planned.name, cell.name) for cell in part.cells], runs + 1
    assert runs > 1
