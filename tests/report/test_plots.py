"""The plots: what they show, on which axes, and that they are the same every time."""

import itertools
import xml.etree.ElementTree as ElementTree

import pytest

from cputrain.record.cell import CellKey
from cputrain.report import forest, lettering, plots, points
from cputrain.report.figure import TICK, svg
from cputrain.report.forest import Bar
from cputrain.report.picture import Picture, color
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
    """Pairs of labels of one axis, and of texts beside points, that lie on one another."""
    f = plots.draw(drawn)
    groups = [
        [lettering.box(tick.label, TICK, tick.place, 0) for tick in f.x_ticks],
        [lettering.box(tick.label, TICK, 0, tick.place) for tick in f.y_ticks],
        [text.box for text in f.point_labels],
    ]
    assert groups[0] and groups[1]
    return [
        (a, b) for boxes in groups for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)
    ]


def labels(ticks):
    return [tick.label for tick in ticks]


def is_log(drawn):
    """Whether x and y are logarithmic, by where their middles lie."""
    across = plots._number_scale(drawn, 0, 1).is_log
    return across, points.time_scale(drawn, 0, 1).is_log


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
    f = plots.draw(drawn)
    assert [line.name for _, line in f.legend] == list(ENGINES)
    assert len({line.color for _, line in f.legend}) == 3
    shown = f.x_ticks if drawn.is_numeric else f.y_ticks
    assert labels(shown) == [str(value) for value in values]
    assert overlapping(drawn) == []


def test_an_engine_has_one_colour_in_all_pictures():
    engines = ("torch", "jax", "native")
    three = by_engine({(n, e): n for e in engines for n in (1, 2)}, 1).series
    two = by_engine({(n, e): n for e in ("native", "torch") for n in (1, 2)}, 1).series
    colors = {its.engine: its.color for its in three}
    assert {its.engine: its.color for its in two} == {e: colors[e] for e in ("native", "torch")}
    assert len(set(colors.values())) == 3 and colors["torch"] == color(None, 0)
    other = by_engine({(n, e): n for e in ("torch", "older") for n in (1, 2)}, 1).series
    assert len({its.color for its in other}) == 2


def test_a_line_is_of_one_engine():
    times = {(v, e): v**n / 1e4 for v in (1, 2) for e, n in ENGINES.items()}
    drawn = by_engine(times, 1)
    f = plots.draw(drawn)
    time = points.time_scale(drawn, f.bottom, f.top)
    lines = {line.name: [y for _, y in line.points] for line in f.lines}
    assert lines["jax"] == [time.place(1.0), time.place(4.0)]
    assert lines["torch"] == [time.place(1.0), time.place(2.0)]
    assert (f.x, f.y) == ("seq_len", "time over the baseline's")


@pytest.mark.parametrize(
    ("times", "scales"),
    [
        ({1: 0.1, 64: 2.0}, (True, True)),
        ({1: 0.1, 64: 0.2}, (True, False)),
        ({1: 0.1, 4: 2.0}, (False, True)),
        ({0: 0.1, 1: 0.2, 64: 0.3}, (False, False)),
    ],
)
def test_axes_are_logarithmic_where_values_span_more_than_eight(times, scales):
    assert is_log(picture(times)) == scales


def test_labels_stand_in_rows_and_failures_are_named():
    drawn = picture({"eager": 0.1, "aot_eager": 0.2, "inductor": None}, base="eager")
    f = plots.draw(drawn)
    assert labels(f.y_ticks) == ["eager", "aot_eager"]
    assert "inductor (failed)" in " ".join(f.notes)
    assert "the same within 3.0 %" in " ".join(f.notes)
    assert f.x == "time over the baseline's"
    assert "2.00x" in [text.text for text in f.point_labels]
    assert [mark.sign for mark in f.marks] == ["diamond", "dot"]


def test_an_interval_is_drawn_whole():
    """Also one that is far wider than the effects are apart."""
    drawn = picture({"a": 0.1, "b": 0.2}, base="a")
    drawn.rows[1] |= {"effect_low": 0.5, "effect_high": 9.0}
    f = plots.draw(drawn)
    time = points.time_scale(drawn, f.left, f.right)
    assert f.marks[1].ends == (time.place(0.5), time.place(9.0))
    assert f.left < time.place(0.5) < time.place(2.0) < time.place(9.0) < f.right


def test_numbers_beside_a_label_are_labels():
    f = plots.draw(picture({1: 0.1, 2: 0.2, "all": 0.2}))
    assert labels(f.y_ticks) == ["1", "2", "all"]


def test_ticks_are_the_values():
    assert labels(plots.draw(picture({128: 0.1, 256: 0.2, 2048: 0.9})).x_ticks) == [
        "128",
        "256",
        "2048",
    ]


@pytest.mark.parametrize("times", [{1: 0.1}, {1: 0.1, 2: None}, {"a": 0.1}])
@pytest.mark.parametrize("has_base", [False, True])
def test_a_single_number_is_a_plot_too(times, has_base):
    base = next(iter(times)) if has_base else None
    ElementTree.fromstring(plots.svg(picture(times, base)))


def test_what_has_no_effect_is_shown_in_seconds_or_named():
    alone = picture({1: 0.1, 2: 0.2})
    assert not alone.is_paired
    assert [point.effect for point in alone.shown] == [0.1, 0.2]
    assert plots.draw(alone).y == "time per step"
    drawn = picture({"a": 0.1, "b": 0.2, "c": 0.3}, base="a")
    drawn.rows[2]["effect"] = None
    assert [point.cell.value for point in drawn.shown] == ["a", "b"]
    assert "not shown: c (no effect)" in " ".join(plots.draw(drawn).notes)


def test_without_intervals_there_are_still_points():
    drawn = picture({1: 0.1, 2: 0.2}, base=1)
    for row in drawn.rows:
        row |= {"effect_low": None, "effect_high": None}
    ElementTree.fromstring(plots.svg(drawn))


def test_the_same_picture_gives_the_same_bytes():
    drawn = picture({1: 0.1, 64: 2.0}, base=1)
    assert plots.svg(drawn) == plots.svg(drawn)


def test_a_suite_without_a_number_has_no_plot(tmp_path):
    drawn = picture({1: None})
    assert plots.draw_all(tmp_path, drawn.rows, drawn.cells) == {}


def test_the_first_screens_picture_has_a_sign_for_each_verdict():
    bars = [
        Bar("precision bf16", 0.7, 0.6, 0.8, "faster"),
        Bar("allocator mimalloc", 1.0, 0.98, 1.02, "same"),
        Bar("pinning close", 1.05, 0.9, 1.2, "not told"),
        Bar("cores 1", 1.6, 1.5, 1.7, "slower"),
    ]
    f = forest.draw("here", bars)
    assert [mark.sign for mark in f.marks] == ["left", "square", "hollow", "right"]
    assert len({mark.color for mark in f.marks}) == 4
    assert "1x" in labels(f.x_ticks)
    assert labels(f.y_ticks)[0] == "precision bf16: 0.700x"


def test_a_picture_says_what_it_shows_and_suits_light_and_dark():
    drawn = svg(plots.draw(picture({"eager": 0.1, "inductor": 0.05}, base="eager")))
    root = ElementTree.fromstring(drawn)
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img" and root.find(f"{space}title").text == "S, here"
    assert "inductor: 0.5x" in root.find(f"{space}desc").text
    assert b"prefers-color-scheme:dark" in drawn
    assert b"<image" not in drawn and b"url(" not in drawn
