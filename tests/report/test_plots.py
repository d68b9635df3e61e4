"""The plots: what they show, on which axes, and that they are the same every time."""

import itertools
import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import pytest

from cputrain.record.cell import CellKey
from cputrain.report import plots, ticks
from cputrain.report.picture import Picture
from cputrain.results import columns
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools


def picture(times, base=None):
    """A suite's picture from {value: step_s, or None where it failed}; effects with a base."""
    cells, rows = [], []
    for value, step_s in times.items():
        status = "ok" if step_s else "failed"
        key = CellKey("S", (value,), ("x",), baseline=None if base is None else str(base))
        cells.append(CellResult("here", key, key.name, "full", status, None, step_s))
        row = dict.fromkeys(columns.SCHEMA) | {"status": status, "step_s": step_s}
        if step_s and base is not None:
            ratio = step_s / times[base]
            row |= {"effect": ratio, "effect_low": 0.97 * ratio, "effect_high": 1.03 * ratio}
        rows.append(row)
    return Picture(rows, cells)


def by_engine(times, base, field="seq_len"):
    """A suite's picture from {(value, engine): step_s}; `base` is the baseline's value."""
    cells, rows = [], []
    for (value, engine), step_s in times.items():
        key = CellKey("S", (value, engine), (field, "engine"), baseline=f"{base}-{engine}")
        cells.append(CellResult("here", key, key.name, "full", "ok", None, step_s))
        ratio = step_s / times[base, engine]
        row = dict.fromkeys(columns.SCHEMA) | {"status": "ok", "step_s": step_s}
        rows.append(row | {"effect": ratio, "effect_low": ratio, "effect_high": ratio})
    return Picture(rows, cells)


def overlapping(drawn):
    """Pairs of labels of one axis, and of annotations, that lie on one another."""
    with mpl.rc_context(plots.STYLE):
        whole = plots.figure(drawn)
        whole.canvas.draw()
        axes = whole.axes[0]
        groups = [
            [tick.label1 for tick in ticks.ticks(axes.xaxis)],
            [tick.label1 for tick in ticks.ticks(axes.yaxis)],
            axes.texts,
        ]
        assert groups[0] and groups[1]
        boxes = [[text.get_window_extent() for text in group] for group in groups]
    return [(a, b) for group in boxes for a, b in itertools.combinations(group, 2) if a.overlaps(b)]


def axes_of(drawn):
    return plots.figure(drawn).axes[0]


@pytest.mark.parametrize("widest", [1.01, 1.4, 3.0, 7.9, 9.0, 60.0, 5000.0])
@pytest.mark.parametrize("name", ["eager", "a_value_with_a_name_as_long_as_names_may_be"])
def test_labels_of_times_stand_apart(widest, name):
    for fastest in (3e-5, 0.0131, 0.9):
        slowest = fastest * widest
        assert overlapping(picture({"a": fastest, name: slowest, "b": slowest}, base="a")) == []
        assert overlapping(picture({1: fastest, 2: slowest, 4: slowest}, base=1)) == []


@pytest.mark.parametrize(
    "values", [(0, 1, 2, 4, 8, 16, 1000), (128, 256, 257, 258, 2048), (0.1, 0.11, 100000, 100001)]
)
def test_labels_of_values_stand_apart(values):
    assert overlapping(picture({v: 0.01 * (i + 1) for i, v in enumerate(values)})) == []


ENGINES = {"torch": 1.0, "jax": 2.0, "native": 1.05}


@pytest.mark.parametrize("values", [(128, 256, 512, 1024), ("gelu", "relu", "swiglu", "silu")])
def test_each_engine_has_a_line_and_a_legend(values):
    times = {
        (v, name): 0.02 * (i + 1) * factor
        for i, v in enumerate(values)
        for name, factor in ENGINES.items()
    }
    drawn = by_engine(times, values[1])
    axes = axes_of(drawn)
    shown = axes.get_legend()
    assert [text.get_text() for text in shown.get_texts()] == list(ENGINES)
    assert len({handle.get_color() for handle in shown.legend_handles}) == 3
    labels = axes.get_xticklabels() if drawn.is_numeric else axes.get_yticklabels()
    assert [label.get_text() for label in labels] == [str(value) for value in values]
    assert overlapping(drawn) == []


def test_a_line_is_of_one_engine():
    times = {(v, e): v**f / 1e4 for v in (1, 2) for e, f in ENGINES.items()}
    axes = axes_of(by_engine(times, 1))
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert lines["jax"] == [1.0, pytest.approx(4)] and lines["torch"] == [1.0, pytest.approx(2)]
    assert axes.get_xlabel() == "seq_len"


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
    assert "the same within 3.0 %" in whole.get_supxlabel()
    assert axes.get_xlabel() == "time over the baseline's"
    assert "2.00x" in [text.get_text() for text in axes.texts]


def test_numbers_beside_a_label_are_labels():
    axes = axes_of(picture({1: 0.1, 2: 0.2, "all": 0.2}))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2", "all"]


def test_ticks_are_the_values():
    axes = axes_of(picture({128: 0.1, 256: 0.2, 2048: 0.9}))
    assert list(axes.get_xticks()) == [128, 256, 2048]


@pytest.mark.parametrize("times", [{1: 0.1}, {1: 0.1, 2: None}, {"a": 0.1}])
@pytest.mark.parametrize("has_base", [False, True])
def test_a_single_number_is_a_plot_too(times, has_base):
    base = next(iter(times)) if has_base else None
    ElementTree.fromstring(plots.svg(picture(times, base)))


def test_what_has_no_effect_is_shown_in_seconds_or_named():
    alone = picture({1: 0.1, 2: 0.2})
    assert not alone.is_paired
    assert [point.effect for point in alone.shown] == [0.1, 0.2]
    assert axes_of(alone).get_ylabel() == "time per step"
    drawn = picture({"a": 0.1, "b": 0.2, "c": 0.3}, base="a")
    drawn.rows[2]["effect"] = None
    assert [point.cell.value for point in drawn.shown] == ["a", "b"]
    assert "not shown: c (no effect)" in plots.figure(drawn).get_supxlabel()


def test_without_intervals_there_are_still_points():
    drawn = picture({1: 0.1, 2: 0.2}, base=1)
    for row in drawn.rows:
        row |= {"effect_low": None, "effect_high": None}
    ElementTree.fromstring(plots.svg(drawn))


def test_the_same_picture_gives_the_same_bytes():
    drawn = picture({1: 0.1, 64: 2.0}, base=1)
    assert plots.svg(drawn) == plots.svg(drawn)
    assert b"<dc:date>" not in plots.svg(drawn)


def test_a_suite_without_a_number_has_no_plot(tmp_path):
    drawn = picture({1: None})
    assert plots.draw_all(tmp_path, drawn.rows, drawn.cells) == {}
