"""The ticks of an axis: round, apart, enough of them, or the measured values themselves."""

import pytest

from cputrain.report import charts, lettering, ticks

pytestmark = pytest.mark.tools
LONG, FONT = 300.0, 10.0


def apart(made):
    boxes = [lettering.box(tick.label, FONT, tick.place, 0.0) for tick in made]
    return len(lettering.apart(boxes)) == len(boxes)


@pytest.mark.parametrize(
    ("low", "high", "is_log"),
    [
        (0.3, 3.0, True),
        (0.97, 1.03, True),
        (0.945, 1.0, True),
        (0.7, 4.0, True),
        (0.6, 11.0, True),
        (0.03, 5000.0, True),
        (128, 50_000, True),
        (0.0, 19.0, False),
        (41, 42, False),
    ],
)
def test_an_axis_has_round_ticks_within_its_ends(low, high, is_log):
    scale = charts.around([low, high], 0.0, LONG, is_log)
    made = ticks.of_time(scale, "{:g}".format, is_upright=False, size=FONT)
    values = [float(tick.label) for tick in made]
    assert 3 <= len(made) <= 10 and apart(made)
    assert all(scale.low <= value <= scale.high for value in values)
    assert values == sorted(values) and [scale.place(v) for v in values] == [t.place for t in made]
    assert 0.0 <= scale.place(low) < scale.place(high) <= LONG
    assert not (is_log and low <= 1 <= high) or 1.0 in values


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ((2, 4, 8, 16, 32), ["2", "4", "8", "16", "32"]),
        ((2048, 128, 512, 128), ["128", "512", "2048"]),
        ((1000, 1001, 1002, 8000), ["1000", "8000"]),
    ],
)
def test_ticks_are_the_values_but_those_that_lie_on_another(values, labels):
    scale = charts.around(values, 0.0, LONG)
    made = ticks.of_values(scale, values, FONT)
    assert [tick.label for tick in made] == labels and apart(made)
