"""A projection in words, from a record whose steps are known."""

import datetime

import pytest
from msgspec import structs
from settled import settled

from cputrain.analysis.projection import Recorded, project
from cputrain.experiment.presets import PRESETS
from cputrain.record.projection import ProjectionRecord
from cputrain.report import projection as report

pytestmark = pytest.mark.tools

START = datetime.datetime(2026, 11, 22, 18, 0)
STEADY = Recorded({"a": [(6.0 * n, 0.04) for n in range(200)]})


@pytest.fixture
def record(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend("tests/results")
    from made_project import worker

    return ProjectionRecord(
        steps=10_000, done=3_500, worker=worker(settled(), [[0.04] * 100, [0.05] * 100])
    )


def test_the_mean_counts_and_not_the_median(record):
    known = project(record, STEADY)
    assert known.step_s == pytest.approx(0.045)
    assert (known.fastest_s, known.slowest_s) == (pytest.approx(0.04), pytest.approx(0.05))
    assert known.left == 6_500 and known.milestones[-1].seconds == pytest.approx(292.5)


def test_milestones_count_the_steps_that_are_left(record):
    known = project(record, STEADY)
    assert [milestone.step for milestone in known.milestones] == [4150, 5125, 6750, 8375, 10_000]
    assert known.milestones[2].low == pytest.approx(known.milestones[2].seconds)


@pytest.mark.parametrize(
    ("left", "rows"),
    [
        (1, [(1, 1.0)]),
        (2, [(1, 0.5), (2, 1.0)]),
        (7, [(1, 1 / 7), (2, 2 / 7), (4, 4 / 7), (5, 5 / 7), (7, 1.0)]),
    ],
)
def test_each_step_of_a_few_has_one_row_with_its_share_of_them(record, left, rows):
    known = project(ProjectionRecord(steps=100 + left, done=100, worker=record.worker), STEADY)
    found = [(milestone.step - 100, milestone.share) for milestone in known.milestones]
    assert found == [(step, pytest.approx(share)) for step, share in rows]
    lines = report.lines(known, 256, START, ())
    assert lines[1 + len(rows)].split()[:3] == [str(100 + left), "100", "%"]


def test_tokens_of_a_few_steps_are_counted_one_by_one(record):
    known = project(ProjectionRecord(steps=1, worker=record.worker), STEADY)
    assert "256 tokens in 1 step" in report.lines(known, 256, START, ())


def test_a_run_that_ends_beyond_the_calendar_is_told_in_days(record):
    known = project(ProjectionRecord(steps=10**13, worker=record.worker), STEADY)
    assert report.lines(known, 256, START, ())[6].count("in 5208333 days") == 3


def test_lines_say_when_it_ends(record):
    lines = report.lines(project(record, STEADY), 256, START, ())
    assert lines[0].startswith("measured: 200 steps in 9.0 s, 45.0 ms each in the mean, 40.0 ms to")
    assert lines[6].split() == (
        ["10", "000", "100", "%", "4.9", "min", "18:04:52", "18:04:52", "and", "18:04:52"]
    )
    assert lines[7] == "1.66 million tokens in 6500 steps"
    assert "20 min of records in 1 run" in lines[8]


def test_lines_say_that_one_evening_tells_little_of_another(record):
    moments = STEADY.by_session["a"]
    another = [(at + 86_400, seconds) for at, seconds in moments]
    lines = [
        report.lines(project(record, Recorded(by_session)), 256, START, ())[8]
        for by_session in ({"a": moments, "b": moments}, {"a": moments, "b": another})
    ]
    assert ["may be too narrow" in line for line in lines] == [True, False]


@pytest.mark.parametrize(
    ("far", "words"), [(0.0, "near each other"), (1.0, "far apart"), (0.25, "far apart for 25 %")]
)
def test_lines_say_which_minutes_the_interval_is_of(record, far, words):
    moments = STEADY.by_session["a"]
    starts = {("a", at) for at, _ in moments}
    lines = report.lines(project(record, Recorded({"a": moments}, starts, far)), 256, START, ())
    assert "from minutes like this one" in lines[8] and words in lines[8]


def test_minutes_that_are_too_few_tell_no_drift_and_all_do(record):
    moments = STEADY.by_session["a"]
    known = project(record, Recorded({"a": moments}, {("a", moments[0][0])}, 0.0))
    assert known.drift == project(record, STEADY).drift and known.far is None


def test_without_records_no_interval_is_made_up(record):
    lines = report.lines(project(record, Recorded({})), 256, START, ())
    assert "not known" in lines[6]
    assert "python3 bench.py --quick leaves some" in lines[-1]


def test_a_run_that_outlasts_the_records_is_told_so(record):
    known = project(ProjectionRecord(steps=10**6, worker=record.worker), STEADY)
    lines = report.lines(known, 256, START, ())
    assert "none is longer than 20 min" in lines[8]
    assert "Mon 23 Nov 06:30" in lines[6]


def test_published_figures_are_labelled_as_theirs(record):
    figures = PRESETS["wiki-24m"].figures
    lines = report.lines(project(record, STEADY), 256, START, figures)
    assert lines[-1] == (
        "published on i5-1135G7, 8 threads: 5.6 days for as many steps, "
        "theirs and not measured here"
    )


def test_energy_is_the_counter_s_or_what_was_given_and_never_a_guess(record):
    known = project(record, STEADY)
    assert report.cost(known, None, None, "no RAPL here") is None
    assert "not known (no RAPL here)" in report.cost(known, None, 0.3, "no RAPL here")
    assert report.cost(known, 100.0, 0.3, "") == (
        "energy: 0.00813 kWh at the 100 W that you gave, which cost 0.00244 at 0.3 each"
    )


def test_energy_is_of_what_ran_and_reckoned_for_the_rest_of_a_step(record):
    """Of each step one of four micro-batches was run, at 50 W."""
    ran = [
        structs.replace(
            sample,
            noise=structs.replace(
                sample.noise, wall_s=sum(sample.step_s) / 4, energy_j=50 * sum(sample.step_s) / 4
            ),
        )
        for sample in record.worker.samples
    ]
    worker = record.worker.but(samples=ran, composed="sum of 1 micro-batch x 4 and the update")
    known = project(ProjectionRecord(steps=record.steps, worker=worker), STEADY)
    assert known.energy_j == pytest.approx(50 * known.step_s)
    assert known.measured_s == pytest.approx(known.measured * known.step_s / 4)


def test_a_run_of_which_nothing_is_left_is_no_record(record):
    with pytest.raises(ValueError, match="none is left"):
        ProjectionRecord(steps=10, done=10, worker=record.worker)


def test_a_projection_of_a_busy_machine_says_so(record):
    calm, busy = record.worker.samples
    disturbed = structs.replace(busy, disturbed=True)
    worker = record.worker.but(samples=[calm, disturbed])
    known = project(ProjectionRecord(steps=10, worker=worker), STEADY)
    lines = report.lines(known, 256, START, ())
    assert lines[1].startswith("other work held the steps up in 50 % of that time")


def test_a_step_of_which_a_part_was_run_is_told_to_be_reckoned(record):
    composed = "sum of 2 micro-batches x 8 and the update"
    worker = record.worker.but(composed=composed)
    lines = report.lines(project(ProjectionRecord(steps=10, worker=worker), STEADY), 256, START, ())
    assert lines[1] == f"a step's time is reckoned, the {composed}"
    assert not any(
        "reckoned" in line for line in report.lines(project(record, Recorded({})), 1, START, ())
    )


def test_an_uneven_minute_is_told_and_widens_what_calm_records_tell(record):
    calm = Recorded({"a": [(6.0 * n, 0.04 * (1 + 0.01 * (n % 2))) for n in range(200)]})
    minute = [record.worker.samples[0]] * 3 + [record.worker.samples[1]] * 3
    even, uneven = (
        project(ProjectionRecord(steps=10_000, worker=record.worker.but(samples=its)), calm)
        for its in (minute[:3] * 2, minute)
    )
    assert uneven.milestones[-1].high > 1.08 * uneven.milestones[-1].seconds
    assert even.milestones[-1].high < 1.02 * even.milestones[-1].seconds
    lines = [report.lines(known, 256, START, ())[8] for known in (even, uneven)]
    assert ["times as wide" in line for line in lines] == [False, True]
