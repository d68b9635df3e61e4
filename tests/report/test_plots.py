"""The plots: what they show, on which axes, and that they are the same every time."""

import xml.etree.ElementTree as ElementTree

import pytest

from cputrain.record.cell import CellKey
from cputrain.report import plots
from cputrain.report.plots import Picture
from cputrain.results import columns
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools


def picture(times, noise=0.02, base=None):
    """A suite's picture from {value: step_s, or None where it failed}."""
    cells, rows = [], []
    for value, step_s in times.items():
        status = "ok" if step_s else "failed"
        cells.append(
            CellResult(
                "here", CellKey("S", (value,), ("x",)), str(value), "full", status, None, step_s
            )
        )
        row = dict.fromkeys(columns.SCHEMA) | {"status": status, "step_s": step_s}
        if step_s:
            row |= {"step_s_low": 0.97 * step_s, "step_s_high": 1.03 * step_s}
        if step_s and base is not None:
            ratio = step_s / times[base]
            row |= {"effect": ratio, "effect_low": ratio, "effect_high": ratio}
        rows.append(row)
    return Picture(rows, cells, noise)


def axes_of(drawn):
    return plots.figure(drawn).axes[0]


@pytest.mark.parametrize(
    ("times", "scales"),
    [
        ({1: 0.1, 64: 2.0}, ("log", "log")),
        ({1: 0.1, 64: 0.2}, ("log", "linear")),
        ({1: 0.1, 4: 2.0}, ("linear", "log")),
        ({0: 0.1, 1: 0.2, 64: 0.3}, ("linear", "linear")),
    ],
)
def test_axes_are_logarithmic_where_values_span_more_than_eight(times, scales):
    axes = axes_of(picture(times))
    assert (axes.get_xscale(), axes.get_yscale()) == scales


def test_labels_stand_in_rows_and_failures_are_named():
    drawn = picture({"eager": 0.1, "aot_eager": 0.2, "inductor": None}, base="eager")
    whole = plots.figure(drawn)
    axes = whole.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["eager", "aot_eager"]
    assert "inductor (failed)" in whole.get_supxlabel()
    assert "2.00x" in [text.get_text() for text in axes.texts]


def test_numbers_beside_a_label_are_labels():
    axes = axes_of(picture({1: 0.1, 2: 0.2, "all": 0.2}))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2", "all"]


def test_ticks_are_the_values():
    axes = axes_of(picture({128: 0.1, 256: 0.2, 2048: 0.9}))
    assert list(axes.get_xticks()) == [128, 256, 2048]


@pytest.mark.parametrize("times", [{1: 0.1}, {1: 0.1, 2: None}, {"a": 0.1}])
@pytest.mark.parametrize("noise", [None, 0.0, 0.05])
def test_a_single_number_is_a_plot_too(times, noise):
    ElementTree.fromstring(plots.svg(picture(times, noise)))


def test_without_intervals_there_are_still_points():
    drawn = picture({1: 0.1, 2: 0.2}, base=1)
    for row in drawn.rows:
        row |= {"step_s_low": None, "step_s_high": None, "effect_low": None, "effect_high": None}
    ElementTree.fromstring(plots.svg(drawn))


def test_the_same_picture_gives_the_same_bytes():
    drawn = picture({1: 0.1, 64: 2.0}, base=1)
    assert plots.svg(drawn) == plots.svg(drawn)
    assert b"<dc:date>" not in plots.svg(drawn)


def test_a_suite_without_a_number_has_no_plot(tmp_path):
    drawn = picture({1: None})
    assert plots.draw_all(tmp_path, drawn.rows, drawn.cells, None) == {}
