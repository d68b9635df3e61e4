"""Runs of `train` as records of a machine's drift: sessions, places, what another model sees."""

import math
import random

import pytest

from cputrain.analysis import drift_apart
from cputrain.analysis.drift import learned
from cputrain.analysis.drift_apart import Slowdown
from cputrain.analysis.moments import PlacedMoment, before
from cputrain.analysis.places import Places
from cputrain.analysis.trained_moments import TrainedSteps, placed
from cputrain.results.step_moments import StepMoment

pytestmark = pytest.mark.tools
PLACES = Places(cpus=(0, 1), from_ns=200.0)
CPUS = (0, 1)


def run(times, step_s=0.05, trip_ns=None, at_once=1.0, cpus=CPUS, slowdown=None, name="mine"):
    moments = [StepMoment(at, step_s, trip_ns, at_once if trip_ns else None) for at in times]
    return TrainedSteps(name, moments, cpus, slowdown or Slowdown())


def test_a_run_that_was_stopped_or_slept_is_several_sessions():
    times = [*range(0, 60, 5), *range(3600, 3650, 5)]
    its = placed([run(times), run([0, 5], name="other")], PLACES)
    assert [(name, len(moments)) for name, moments in its.items()] == [
        ("train/mine/0", 12),
        ("train/mine/1", 10),
        ("train/other/0", 2),
    ]


def test_a_clock_that_was_set_back_begins_another_session():
    """Nothing is looked for among moments that do not ascend."""
    its = placed([run([*range(0, 600, 5), *range(302, 900, 5)])], PLACES)
    assert [(len(m), m[0].at_s) for m in its.values()] == [(120, 0), (120, 302)]
    assert drift_apart.recorded(its, 0.0, Slowdown(), its.keys()).drift(60.0).sessions == 2


def test_long_steps_are_no_breaks():
    its = placed([run(range(0, 3600, 300), step_s=300.0)], PLACES)
    assert [len(moments) for moments in its.values()] == [12]


@pytest.mark.parametrize(
    ("steps", "far"),
    [
        (run([0], trip_ns=345.0), 1.0),
        (run([0], trip_ns=57.0), 0.0),
        (run([0], trip_ns=345.0, at_once=1.7), 0.0),  # one core
        (run([0]), None),
        (run([0], trip_ns=345.0, cpus=(0, 3)), None),  # others than those that the sweeps tell of
    ],
)
def test_a_moment_is_at_the_place_that_the_sweeps_tell(steps, far):
    ((moment,),) = placed([steps], PLACES).values()
    assert moment.far == far


def test_a_model_that_slows_down_less_is_taken_as_the_default_experiment_would_have_been():
    default_over_model = Slowdown(1.3, 1.1)
    far, near = (
        placed([run([0], trip_ns=ns, slowdown=default_over_model)], PLACES)["train/mine/0"][0]
        for ns in (345.0, 57.0)
    )
    assert far.step_s == pytest.approx(0.05 * 1.3 / 1.1) and near.step_s == 0.05


def test_hours_of_training_tell_the_drift_of_hours():
    """A machine that gets 20 % slower after ten minutes, which no sweep of its own is told by."""
    rng = random.Random(0)
    times = range(0, 4 * 3600, 5)
    slow = [0.05 * (1.2 if at > 600 else 1.0) * math.exp(rng.gauss(0, 0.01)) for at in times]
    trained = TrainedSteps(
        "night",
        [StepMoment(at, s, None, None) for at, s in zip(times, slow, strict=True)],
        CPUS,
        Slowdown(),
    )
    sweep = {"sweep": placed([run(range(90_000, 91_200, 8))], PLACES)["train/mine/0"]}
    runs = placed([trained], PLACES)
    before = drift_apart.recorded(sweep, None, Slowdown()).drift(3600.0)
    since = drift_apart.recorded({**sweep, **runs}, None, Slowdown(), runs.keys()).drift(3600.0)
    assert before.longest_s < 1200 < 14_000 < since.longest_s
    assert since.interval(0.9)[1] > 1.05 > before.interval(0.9)[1]


def test_steps_of_another_model_tell_nothing_by_their_mean():
    """Two sweeps agree, and a run of a model of ten times the size lies beside them."""
    sweeps = {name: [(n * 6.0, 0.04) for n in range(100)] for name in "ab"}
    every = {**sweeps, "train/large/0": [(n * 6.0, 0.4) for n in range(100)]}
    assert learned(every, 36_000.0).log_sd > 1
    assert learned(every, 36_000.0, alone={"train/large/0"}).log_sd == pytest.approx(0.0)


def test_what_came_later_is_left_out_of_sweeps_and_runs_alike():
    sweep = {"sweep": [PlacedMoment(at, 0.04, None) for at in (10.0, 90.0, 100.0)]}
    runs = placed([run([50, 95]), run([200], name="late")], PLACES)
    earlier = before({**sweep, **runs}, 95.0)
    assert {name: [m.at_s for m in its] for name, its in earlier.items()} == {
        "sweep": [10.0, 90.0],
        "train/mine/0": [50],
    }
