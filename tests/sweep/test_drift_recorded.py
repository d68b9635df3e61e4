"""What a projection learns from: sweeps, and the runs of `train` that are like it."""

import datetime

import pytest
from msgspec import structs
from settled import settled

from cputrain.record import files
from cputrain.record.trained import FILE, PROGRESS, Stretch
from cputrain.sweep import drift
from cputrain.worker.training.table import Row, Table

pytestmark = pytest.mark.tools
BEGAN = datetime.datetime(2026, 11, 22, 10, tzinfo=datetime.UTC)
NUMPY = settled(n_layer=2, engine="numpy", attention_backend="manual")


@pytest.fixture
def runs(monkeypatch):
    monkeypatch.syspath_prepend("tests/results")
    import made_runs

    return made_runs


@pytest.fixture
def worker(runs):
    """Of a projection, two hours after the runs began."""
    return runs.worker(settled(n_layer=2), [[0.04] * 5], started="2026-11-22T12:00:00+00:00")


def keep(runs, root, record, began=BEGAN):
    """A run of ten minutes, a step of half a second each; its folder."""
    folder = runs.keep(root, record)
    table = Table(folder / PROGRESS, done=0)
    for step in range(1, 1201):
        at = (began + datetime.timedelta(seconds=step / 2)).isoformat(timespec="seconds")
        table.add(Row(step, 4.0, 0.001, 0.5, 512.0, None, at=at))
    table.flush()
    return folder


def test_runs_of_the_same_engine_before_it_are_its_records(own_root, runs, worker):
    keep(runs, own_root, runs.record("mine"))
    known = drift.recorded("here", worker)
    assert list(known.by_session) == ["train/mine/0"] and "train/mine/0" in known.alone
    told = known.drift(60.0)
    assert told.sessions == 1 and told.longest_s == pytest.approx(595, abs=6)
    assert told.interval(0.9) == (pytest.approx(1.0), pytest.approx(1.0))


def test_what_came_after_it_tells_nothing(own_root, runs, worker):
    """The very run that was projected, above all: its end would be known before it began."""
    keep(runs, own_root, runs.record("late"), BEGAN + datetime.timedelta(hours=2))
    keep(runs, own_root, runs.record("resumed"), BEGAN + datetime.timedelta(minutes=115))
    known = drift.recorded("here", worker)
    (moments,) = known.by_session.values()
    assert list(known.by_session) == ["train/resumed/0"]
    assert max(at for at, _ in moments) < BEGAN.timestamp() + 2 * 3600


@pytest.mark.parametrize("how", ["another engine", "two processes", "no table", "a broken table"])
def test_other_runs_tell_nothing(own_root, runs, worker, how):
    record = runs.record("other", NUMPY if how == "another engine" else None)
    if how == "two processes":
        stretch = Stretch(started=BEGAN.isoformat(), done=0, last=100, processes=2, wall_s=20.0)
        record = structs.replace(record, stretches=[stretch])
    folder = keep(runs, own_root, record)
    if how == "no table":
        (folder / PROGRESS).unlink()
    if how == "a broken table":
        (folder / PROGRESS).write_text("step,step_s,at\n1,x,y\n")
    assert drift.recorded("here", worker).by_session == {}
    assert files.read_bytes(folder / FILE)
