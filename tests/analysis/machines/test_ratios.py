"""Ratios of two machines: their intervals hold the truth as often as they say."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from cputrain.analysis.machines import ratios, usual, wander
from cputrain.analysis.machines.usual import Reference, References

pytestmark = pytest.mark.tools

TRIES = 200
SUITES, CELLS = 20, 4
SURE = 2.576
FEW = (1, 2, 2, 3, 3, 4, 5, 5, 6, 8)
"""Moments of references of one suite each."""


def drifted(rng, count, together):
    """A series of deviation 1 whose neighbours hang together so much."""
    logs, now = [], rng.standard_normal()
    for _ in range(count):
        now = together * now + math.sqrt(1 - together**2) * rng.standard_normal()
        logs.append(now)
    return np.array(logs)


class Made:
    """A machine that drifts: what its cells' references took, one after the other."""

    def __init__(self, rng, speed, sd=0.12, together=0.5, error=0.01, minutes=40):
        its = math.log(speed) + sd * drifted(rng, minutes, together)
        known = wander.learned({"s": [(60.0 * i, math.exp(log)) for i, log in enumerate(its)]})
        mean = Reference(float(its.mean()), known.mean_variance, known.degrees, known)
        every = {f"S{i}/{j}": "torch" for i in range(SUITES) for j in range(CELLS)}
        self.name, self.references = "m", References({"torch": mean}, every, known)
        self.rng, self.error = rng, error

    def cell(self, name, effect=1.0):
        """A cell of that effect, whose interval is as wide as its error is large."""
        effect *= math.exp(self.error * self.rng.standard_normal())
        ends = effect * math.exp(-SURE * self.error), effect * math.exp(SURE * self.error)
        row = dict(zip(("effect", "effect_low", "effect_high"), (effect, *ends), strict=True))
        return SimpleNamespace(name=name, step_s=0.04), row


class Several(Made):
    """A machine on which most suites have one reference, and some a reference of few moments each.

    Args:
        is_common: whether all of them drift together, as of one machine, or each by itself.
    """

    def __init__(self, rng, speed, is_common, together=0.7, sd=0.12, minutes=60):
        suites = [(f"S{i}", "most", CELLS) for i in range(SUITES)]
        suites += [(f"O{i}", f"few {i}", count) for i, count in enumerate(FEW)]
        order = [suites[i] for i in rng.permutation(len(suites))]
        cells = [(f"{suite}/{i}", name) for suite, name, count in order for i in range(count)]
        each = minutes / len(cells)
        logs: dict[str, np.ndarray] = {}
        moments: dict[str, list[tuple[float, float]]] = {}
        for number, (_, name) in enumerate(cells):
            key = "most" if is_common else name
            if key not in logs:
                logs[key] = math.log(speed) + sd * drifted(rng, len(cells), together**each)
            at = 60 * each * number, math.exp(logs[key][number])
            moments.setdefault(name, []).append(at)
        wanders = {name: wander.learned({"s": points}) for name, points in moments.items()}
        telling = [name for name in wanders if usual._tells(wanders[name])]
        most = max((wanders[name] for name in telling), key=lambda its: its.moments, default=None)
        by_name = {
            name: usual._reference({"s": points}, wanders[name], most)
            for name, points in moments.items()
        }
        self.name, self.references = "m", References(by_name, dict(cells), most)
        self.rng, self.error = rng, 0.01


def pairs(first, other):
    """Equal experiments, whose effects are alike on both."""
    return [
        like(name.partition("/")[0], first.cell(name), other.cell(name))
        for name in first.references.of_cell
    ]


def like(suite, first, other, counts=True):
    """An equal experiment of a suite."""
    return SimpleNamespace(suite=suite, engine="torch", counts=counts, first=first, other=other)


@pytest.mark.parametrize("truth", [1.0, 1.3])
def test_intervals_hold_the_truth(truth):
    rng = np.random.default_rng(5)
    means, suites = [], []
    for _ in range(TRIES):
        first, other = Made(rng, truth), Made(rng, 1.0)
        equal = pairs(first, other)
        (mean,) = ratios.by_engine(first, other, equal)
        assert (mean.suites, mean.cells) == (SUITES, SUITES * CELLS)
        means.append(mean)
        suites.append(ratios.by_suite(first, other, equal)[0])
    for tried in (means, suites):
        held = np.mean([line.low <= truth <= line.high for line in tried])
        assert held >= 0.97
    assert np.median([line.high / line.low for line in means]) < 1.5
    if truth == 1:
        assert sum(line.verdict != "not told" for line in means) <= 0.04 * TRIES
    else:
        assert sum(line.verdict == "slower" for line in means) >= 0.6 * TRIES


@pytest.mark.parametrize("is_common", [False, True])
def test_suites_that_tell_little_leave_the_mean_as_sure_and_as_true(is_common):
    """Suites of few moments weigh little, also where these are near to each other by chance."""
    rng = np.random.default_rng(11)
    held, widths = [], []
    for _ in range(TRIES // 2):
        first, other = Several(rng, 1.3, is_common), Several(rng, 1.0, is_common)
        equal = pairs(first, other)
        most = [pair for pair in equal if pair.suite.startswith("S")]
        (every,), (sure,) = (ratios.by_engine(first, other, its) for its in (equal, most))
        assert (every.suites, sure.suites) == (SUITES + len(FEW), SUITES)
        if sure.low is None:
            continue
        held.append(every.low <= 1.3 <= every.high)
        widths.append([math.log(line.high / line.low) for line in (every, sure)])
    assert np.mean(held) >= 0.98 and len(held) > 0.95 * TRIES // 2
    every, sure = np.median(widths, axis=0)
    assert every < 1.12 * sure


@pytest.mark.parametrize(("log", "weight"), [(0.02, 0.8), (0.5, 0.5)])
def test_a_suite_weighs_by_the_inverse_of_its_variance(log, weight):
    """Where suites differ by far more than they are unsure by, all weigh alike."""
    rng = np.random.default_rng(6)
    first, other = (Made(rng, 1.0, sd=0.0, error=0.0) for _ in range(2))
    equal = []
    for suite, of_suite, sd in (("S0", log, 0.02), ("S1", 0.0, 0.04)):
        cell, row = first.cell(f"{suite}/0", math.exp(of_suite))
        ends = [math.exp(of_suite + sign * SURE * sd) for sign in (-1, 1)]
        row |= {"effect_low": ends[0], "effect_high": ends[1]}
        equal.append(like(suite, (cell, row), other.cell(f"{suite}/0")))
    (mean,) = ratios.by_engine(first, other, equal)
    assert math.log(mean.value) == pytest.approx(weight * log, rel=0.01)


def test_moments_that_are_near_to_each_other_by_chance_weigh_no_more():
    most = wander.Wander(log_sd=0.1, independent=8.0, moments=40, sessions=1, recorded_s=3600.0)
    few = wander.Wander(log_sd=1e-4, independent=2.0, moments=5, sessions=1, recorded_s=120.0)
    by_name = {
        name: Reference(0.0, its.mean_variance, its.degrees, its, its.independent)
        for name, its in (("most", most), ("few", few))
    }
    of_cell = {"S0/0": "few", "S1/0": "most"}
    machine = SimpleNamespace(name="m", references=References(by_name, of_cell, most))
    row, longer = ({"effect": e, "effect_low": e, "effect_high": e} for e in (1.0, 1.05))
    cells = [SimpleNamespace(name=name, step_s=1.0) for name in of_cell]
    equal = [
        like(cell.name[:2], (cell, its), (cell, row))
        for cell, its in zip(cells, (longer, row), strict=True)
    ]
    (mean,) = ratios.by_engine(machine, machine, equal)
    assert mean.value == pytest.approx(1.05 ** (2 / (2 + 8)))


def test_what_effects_are_off_by_widens_an_interval():
    rng = np.random.default_rng(9)
    widths = []
    for error in (0.001, 0.1):
        first, other = (Made(rng, 1.0, sd=0.001, error=error) for _ in range(2))
        line = ratios.by_suite(first, other, pairs(first, other))[0]
        widths.append(line.high / line.low)
    assert widths[1] > 1.2 > widths[0]


def test_a_cell_counts_once_and_suites_that_are_known_alike_weigh_alike():
    rng = np.random.default_rng(7)
    first, other = (Made(rng, 1.0, sd=0.0, error=0.0) for _ in range(2))
    equal = [like("S0", first.cell("S0/0", math.exp(0.3)), other.cell("S0/0"))]
    equal += [like("S1", first.cell(f"S1/{i}"), other.cell(f"S1/{i}")) for i in range(4)]
    equal += [like("S2", first.cell("S2/0", 9.0), other.cell("S2/0"), counts=False)] * 9
    (mean,) = ratios.by_engine(first, other, equal)
    assert mean.value == pytest.approx(math.exp(0.15)) and (mean.suites, mean.cells) == (2, 5)
    assert [line.suite for line in ratios.by_suite(first, other, equal)] == ["S0", "S1"]


def test_a_cell_without_pairs_may_be_at_any_speed_of_its_machine():
    rng = np.random.default_rng(8)
    first, other = Made(rng, 1.0, error=0.0), Made(rng, 1.0, error=0.0)
    with_pairs = ratios.by_suite(first, other, pairs(first, other)[:1])[0]
    cell, row = first.cell("S0/0")
    alone = like("S0", (cell, dict.fromkeys(row)), other.cell("S0/0"))
    without = ratios.by_suite(first, other, [alone])[0]
    assert without.high / without.low > with_pairs.high / with_pairs.low
    assert ratios.by_engine(first, other, [alone]) == []
    (mean,) = ratios.by_engine(first, other, [alone, *pairs(first, other)[4:8]])
    assert (mean.suites, mean.cells) == (1, 4)


@pytest.mark.parametrize("has_references", [False, True])
def test_what_one_reference_tells_of_many_is_one_estimate(has_references):
    """Ten cells of one minute are all off by what that minute is, and that is as well known."""
    its = wander.Wander(log_sd=0.1, independent=3.0, moments=10, sessions=1, recorded_s=600.0)
    borrowed = Reference(0.0, its.log_sd**2, its.degrees, its)
    widths = []
    for count in (1, 10):
        names = [f"S/{i}" for i in range(count)]
        by_name = dict.fromkeys(names, borrowed) if has_references else {}
        of_cell = {name: name for name in by_name}
        machine = SimpleNamespace(name="m", references=References(by_name, of_cell, its))
        row = {"effect": 1.0, "effect_low": 1.0, "effect_high": 1.0}
        cells = [(SimpleNamespace(name=name, step_s=1.0), row) for name in names]
        line = ratios.by_suite(machine, machine, [like("S", cell, cell) for cell in cells])[0]
        widths.append(line.high / line.low)
    assert widths[1] == pytest.approx(widths[0])


def test_without_the_interval_of_an_effect_there_is_none_and_a_reason():
    """An unknown error is no error of 0: two machines of the same speed are not told apart."""
    rng = np.random.default_rng(8)
    first, other = Made(rng, 1.0, sd=0.001), Made(rng, 1.0, sd=0.001)
    first.name = "bare"
    equal = pairs(first, other)[:4]
    cell, row = first.cell("S0/0", effect=1.2)
    bare = row | {"effect_low": None, "effect_high": None}
    lines = ratios.by_suite(first, other, [like("S0", (cell, bare), equal[0].other), *equal[1:]])
    assert (lines[0].low, lines[0].high, lines[0].verdict) == (None, None, "not told")
    assert lines[0].reason == "no interval: not every effect on bare has one"
    assert lines[0].value > 1.03
    suites = [like("S0", (cell, bare), equal[0].other), like("S1", equal[1].first, equal[1].other)]
    (mean,) = ratios.by_engine(first, other, suites)
    assert mean.suites == 1 and mean.low < 1 < mean.high
    other.references = References(
        {"torch": Reference(0.0, None, 1.0, None)}, other.references.of_cell, None
    )
    (line,) = ratios.by_suite(first, other, [like("S0", (cell, bare), equal[0].other)])
    assert line.reason == (
        "no interval: too few moments of m tell its drift; not every effect on bare has one"
    )


@pytest.mark.parametrize("log_sd", [0.05, 1.0])
def test_an_interval_beyond_a_factor_of_ten_is_none_and_a_reason(log_sd):
    its = wander.Wander(log_sd, independent=2.0, moments=17, sessions=1, recorded_s=1000.0)
    mean = Reference(0.0, its.mean_variance, its.degrees, its, its.independent)
    machine = SimpleNamespace(name="m", references=References({"r": mean}, {"S/0": "r"}, its))
    cell = (
        SimpleNamespace(name="S/0", step_s=1.0),
        dict.fromkeys(("effect", "effect_low", "effect_high"), 1.0),
    )
    (line,) = ratios.by_suite(machine, machine, [like("S", cell, cell)])
    if log_sd < 0.1:
        assert 1 < line.high < ratios.WIDEST and line.reason is None
    else:
        assert (line.low, line.high, line.verdict) == (None, None, "not told")
        assert line.reason == "no interval: it would reach beyond a factor of 10"


def test_without_moments_there_is_no_interval_and_a_reason():
    rng = np.random.default_rng(8)
    first, other = Made(rng, 1.0), Made(rng, 1.0)
    other.name, none = "quick-one", Reference(0.0, None, 1.0, None)
    other.references = References({"torch": none}, other.references.of_cell, None)
    (mean,) = ratios.by_engine(first, other, pairs(first, other))
    assert mean.low is None and mean.verdict == "not told"
    assert mean.reason == "no interval: too few moments of quick-one tell its drift"
