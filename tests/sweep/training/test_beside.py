"""What had been projected for a run: the right projection, for all of the run's steps."""

import pytest
from msgspec import structs
from settled import settled

from cputrain.record import files
from cputrain.record.plan import TrainingPlan
from cputrain.record.projection import FILE, FOLDER, ProjectionRecord
from cputrain.record.train import Ended
from cputrain.record.trained import Stretch, TrainRecord
from cputrain.report import together
from cputrain.report import train as report
from cputrain.sweep.training import beside

pytestmark = pytest.mark.tools
SMALL = settled(n_layer=2)
TRAINED = SMALL.but(learning_rate=0.01, lr_warmup_steps=7, deadline_s=9)


@pytest.fixture
def worker(monkeypatch):
    monkeypatch.syspath_prepend("tests/results")
    from made_project import worker

    return worker


@pytest.fixture
def record(worker):
    return TrainRecord(
        name="mine",
        plan=TrainingPlan(steps=1000),
        worker=worker(TRAINED, [[0.04]]),
        stretches=[
            Stretch(started="2026-11-22T10:00:00+00:00", done=0, last=600, wall_s=30.0),
            Stretch(started="2026-11-22T11:00:00+00:00", done=600, last=1000, wall_s=20.0),
        ],
        ended=Ended(step=1000, is_done=True, training_s=44.0, validation_loss=2.5),
    )


def keep(root, name, worker, **others):
    record = ProjectionRecord(steps=5000, done=100, worker=worker)
    files.write(root / "output" / "here" / FOLDER / name / FILE, structs.replace(record, **others))


def test_without_a_projection_of_the_same_training_there_is_none(own_root, worker, record):
    keep(own_root, "wider", worker(SMALL.but(n_embd=512), [[0.04] * 10]))
    keep(own_root, "failed", worker(SMALL, [[0.04] * 10], status="failed", reason="it was"))
    late = "2026-11-22T12:00:00+00:00"
    keep(own_root, "later than the run", worker(SMALL, [[0.04] * 10], started=late))
    assert beside.projected(record, "here") is None
    assert report.beside(None, "project it").endswith("first: project it")


def test_the_newest_projection_before_the_run_is_told_for_its_steps(own_root, worker, record):
    keep(own_root, "old", worker(SMALL, [[0.9] * 10], started="2026-11-20T10:00:00+00:00"))
    keep(own_root, "new", worker(SMALL, [[0.04] * 10], started="2026-11-22T09:00:00+00:00"))
    known = beside.projected(record, "here")
    assert known.projected_s == pytest.approx(40.0)  # of 1000 steps, whatever it was asked for
    assert known.actual_s == 44.0
    assert "projected 40 s" in report.beside(known) and "1.10x" in report.beside(known)


def test_a_run_whose_processes_changed_is_held_against_no_projection(own_root, worker, record):
    keep(own_root, "new", worker(SMALL, [[0.04] * 10], started="2026-11-22T09:00:00+00:00"))
    first, last = record.stretches
    changed = structs.replace(record, stretches=[first, structs.replace(last, processes=2)])
    assert beside.projected(changed, "here") is None
    assert "by 1 and by 2 processes" in together.mixed(changed)
    assert together.mixed(record) is None
    killed = structs.replace(last, processes=2, last=600)  # before its first step
    assert together.mixed(structs.replace(record, stretches=[first, killed])) is None


def test_an_interval_says_whether_the_run_was_inside():
    within = beside.Beside(session="a", projected_s=40.0, low_s=38.0, high_s=43.0, actual_s=42.0)
    assert "40 s [38 s, 43 s]" in report.beside(within)
    assert report.beside(within).endswith("inside the interval")
    assert report.beside(structs.replace(within, actual_s=50.0)).endswith("outside the interval")
    short = beside.Beside(session="a", projected_s=0.8, low_s=0.21, high_s=3.9, actual_s=0.196)
    assert "[210 ms, 3.9 s] for its steps, they took 196 ms" in report.beside(short)


def test_the_end_tells_of_all_stretches(record):
    line = report.ended(record, record.ended)
    assert line.startswith("1000 steps of 1 000, validation loss 2.5000")
    assert line.endswith("in 2 stretches") and "44 s in steps, 50 s in all" in line
