"""A cell's record grows: which workers of it stay."""

import itertools

import pytest
from made_project import failure, worker

from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellKey, CellRecord
from cputrain.run import recording

pytestmark = pytest.mark.tools

USUAL = Experiment()
KEY = CellKey("SeqLen", (256,), ("seq_len",))


def ok(session):
    return worker(USUAL, [[1.0]], session=session)


def cut_off(session):
    return worker(USUAL, [[9.0]], session=session, status="unproven")


def failed(session):
    return failure(USUAL, "failed", "why", session=session)


def kept(path):
    return [its.session for its in files.read(path, CellRecord, SCHEMA).workers]


@pytest.fixture
def record(tmp_path):
    """Add workers one after the other; the sessions of those that are kept."""
    path, numbers = tmp_path / recording.FILE, itertools.count()

    def add(*workers):
        for its in workers:
            recording.add(path, KEY, its.but(id=str(next(numbers))))
        return kept(path)

    return add


def test_of_sessions_with_a_number_the_newest_three_are_kept(record):
    assert record(*(ok(name) for name in "abcd"), ok("d")) == ["b", "c", "d", "d"]


def test_runs_that_are_stopped_push_no_number_out(record):
    stopped = [cut_off(name) for name in "abcd"]
    assert record(ok("full"), ok("full"), *stopped) == ["full", "full", "d"]
    assert record(ok("new")) == ["full", "full", "new"]


def test_a_pass_that_was_cut_off_stays_beside_one_with_a_number(record):
    assert record(ok("old"), cut_off("old"), cut_off("new")) == ["old", "old", "new"]


def test_sessions_that_failed_push_no_number_out_and_the_newest_tells(record):
    assert record(ok("full"), *(failed(name) for name in "abcd")) == ["full", "d"]
    assert record(cut_off("e")) == ["full", "d", "e"]  # which leaves the outcome to d


def test_the_worker_that_is_added_is_kept_also_of_a_session_that_began_before_three(tmp_path):
    path = tmp_path / recording.FILE
    merged = [ok(name).but(id=name) for name in ("old", "a", "b", "c")]
    files.write(path, CellRecord(key=KEY, workers=merged))
    recording.add(path, KEY, cut_off("old"))
    assert kept(path) == ["old", "b", "c", "old"]
