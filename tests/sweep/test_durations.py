"""How long suites are expected to take."""

from dataclasses import replace

import pytest
from found_suites import ALL

from cputrain.sweep.durations import SUITE_S, TAKE_OVER_S, Durations

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
    assert alone == SUITE_S + sum(KNOWN.cell_s(first, cell) for cell in first.cells)
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
