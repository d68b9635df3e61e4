"""What is learned of a made machine whose costs are known."""

import dataclasses
import math
import statistics

import pytest
from made_costs import RATES, TRUE, design, learned, never_seen, observations, seconds

from cputrain.analysis.cost import learn, predict
from cputrain.analysis.cost.costs import Costs, EngineCosts
from cputrain.analysis.cost.scope import plain, ranges
from cputrain.analysis.cost.terms import TERMS
from cputrain.model import fresh
from cputrain.results.machines import MachineFacts

pytestmark = pytest.mark.tools


@pytest.fixture(scope="module")
def exact():
    return learned(design())


def test_the_coefficients_of_a_made_machine_are_found(exact):
    for name, true in TRUE.items():
        large = name in ("products", "attention", "logits")
        assert exact.coefficients[name] == pytest.approx(true, rel=0.15 if large else 0.4), name
    assert exact.errors.median < 0.005


def test_shapes_that_were_never_seen_are_predicted(exact):
    cells = design()
    reference_s = seconds(plain("torch"))
    engine = EngineCosts(exact, None, reference_s, ranges(cells))
    rates = RATES.peak, RATES.bandwidth, RATES.threads
    machine = Costs(*rates, {"torch": engine}, [], cache=RATES.cache)
    for experiment in never_seen():
        predicted = predict.predict(experiment, machine).seconds
        assert predicted == pytest.approx(seconds(experiment), rel=0.03)


def test_no_coefficient_is_negative_or_faster_than_the_peak_whatever_was_measured():
    """A machine that seems to multiply four times as fast as its measured peak."""
    cells = [
        type(cell)(cell.name, cell.experiment, cell.reference, 0.25 * cell.log_ratio, cell.sd)
        for cell in observations(design())
    ]
    coefficients = learn.of_time(cells, seconds(plain("torch")) / 4, RATES, "torch").coefficients
    assert all(coefficients[name] >= max(term.least, 0.0) for name, term in TERMS.items())


def test_nine_in_ten_cells_of_levels_that_were_left_out_lie_within_the_interval():
    coverage = [learned(design(), 0.05, seed).errors.coverage for seed in range(5)]
    assert 0.8 < statistics.fmean(coverage) < 0.97


def test_a_cell_that_something_held_up_pulls_little(exact):
    cells = observations(design())
    held_up = cells[3]
    cells[3] = type(held_up)(
        held_up.name, held_up.experiment, held_up.reference, held_up.log_ratio + math.log(3), 0.01
    )
    learned = learn.of_time(cells, seconds(plain("torch")), RATES, "torch")
    assert learned.errors.median < 0.03


def test_a_reference_that_faulted_more_than_usual_does_not_bend_the_coefficients(exact):
    """Half of the references fault 20 000 pages a step, which is half of their time."""
    slow = TRUE["pages"] * 1e-6 * 20_000 / seconds(plain("torch"))
    cells, blind = [], []
    for i, cell in enumerate(observations(design())):
        extra = i % 2
        log_ratio = cell.log_ratio - extra * math.log1p(slow)
        pages = fresh.pages(cell.experiment), fresh.pages(cell.reference) + extra * 20_000
        cells.append(dataclasses.replace(cell, log_ratio=log_ratio, pages=pages[0],
                                         reference_pages=pages[1]))  # fmt: skip
        blind.append(dataclasses.replace(cell, log_ratio=log_ratio))
    counted, uncounted = (
        learn.of_time(its, seconds(plain("torch")), RATES, "torch") for its in (cells, blind)
    )
    assert counted.errors.median < 0.01 < uncounted.errors.median
    assert counted.coefficients["products"] == pytest.approx(
        exact.coefficients["products"], rel=0.1
    )


def test_the_peak_is_that_of_all_threads_whatever_bandwidth_is_known():
    """With the peak of one thread no step of two could be as fast as it was measured."""
    facts = MachineFacts(
        "made",
        {"l3": "32768K x 1", "memory": "23.5 GiB"},
        {"fp32": {"1": 190e9, "2": 370e9}},
        {"1": 16e9},
    )
    costs = learn.learn([], facts)
    assert (costs.peak, costs.threads, costs.bandwidth) == (370e9, 2, 16e9)
    assert costs.cache == 32 << 20 and costs.memory == 23.5 * 2**30
    assert learn.learn([], dataclasses.replace(facts, peaks={})) is None


@pytest.mark.parametrize(
    ("facts", "memory"),
    [
        ({"ram": "25276510208"}, 25276510208),  # of asv's own entry
        ({"memory": None, "ram": ""}, 0),
        ({"memory": "much"}, 0),
        ({}, 0),
    ],
)
def test_the_machine_s_memory_is_as_its_facts_say(facts, memory):
    made = MachineFacts("made", facts, {"fp32": {"1": 190e9}}, {"1": 16e9})
    assert learn.learn([], made).memory == memory
