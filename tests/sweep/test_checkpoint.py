import pytest

from cputrain.sweep.checkpoint import SweepCheckpoint

WANTED = {"commit": "abc", "cells": {"SeqLen": ["1", "2"]}}


@pytest.fixture
def stopped(tmp_path):
    """The file of a sweep that was stopped after its first suite."""
    path = tmp_path / "sweep.json"
    state = SweepCheckpoint.open(path, WANTED, fresh=False)
    state.save()
    state.after(["SeqLen"])
    return path


def test_a_stopped_sweep_goes_on(stopped):
    state = SweepCheckpoint.open(stopped, WANTED, fresh=False)
    assert state.done == ("SeqLen",)
    assert state.session == SweepCheckpoint.open(stopped, WANTED, fresh=False).session


def test_it_goes_on_in_its_pass(stopped):
    SweepCheckpoint.open(stopped, WANTED, fresh=False).next_pass().after(["Width"])
    state = SweepCheckpoint.open(stopped, WANTED, fresh=False)
    assert (state.number, state.done) == (2, ("Width",))


def test_a_finished_one_another_one_and_a_fresh_one_start_over(stopped):
    assert SweepCheckpoint.open(stopped, WANTED, fresh=True).done == ()
    assert SweepCheckpoint.open(stopped, {**WANTED, "commit": "def"}, fresh=False).done == ()
    SweepCheckpoint.open(stopped, WANTED, fresh=False).save(finished=True)
    assert SweepCheckpoint.open(stopped, WANTED, fresh=False).done == ()


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"wanted": 1}'])
def test_a_broken_file_is_no_sweep(stopped, content):
    stopped.write_text(content)
    assert SweepCheckpoint.open(stopped, WANTED, fresh=False).done == ()
