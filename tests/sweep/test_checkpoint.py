from dataclasses import replace

import pytest

from cputrain.sweep import checkpoint
from cputrain.sweep.checkpoint import SweepCheckpoint

WANTED = {"machine": "one", "commit": "abc", "cells": {"SeqLen": ["1", "2"]}}


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


def test_it_goes_on_with_what_its_pass_was_to_take(stopped):
    chosen = {"cells": {"Width": ["1"]}, "suites_s": {"Width": 2.0}, "pairs": {"torch": 8}}
    first = SweepCheckpoint.open(stopped, WANTED, fresh=False)
    assert first.chosen is None
    second = first.next_pass().planned(chosen).after(["Width"])
    assert SweepCheckpoint.open(stopped, WANTED, fresh=False) == second
    assert second.chosen == chosen and second.next_pass().chosen is None


def test_a_finished_one_another_one_and_a_fresh_one_start_over(stopped):
    assert SweepCheckpoint.open(stopped, WANTED, fresh=True).done == ()
    assert SweepCheckpoint.open(stopped, {**WANTED, "commit": "def"}, fresh=False).done == ()
    SweepCheckpoint.open(stopped, WANTED, fresh=False).save(finished=True)
    assert SweepCheckpoint.open(stopped, WANTED, fresh=False).done == ()


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"wanted": 1}'])
def test_a_broken_file_is_no_sweep(stopped, content):
    stopped.write_text(content)
    assert SweepCheckpoint.open(stopped, WANTED, fresh=False).done == ()


def test_why_a_stopped_sweep_is_not_gone_on_with(stopped):
    later = {**WANTED, "commit": "def"}
    assert SweepCheckpoint.left_behind(stopped, WANTED) is None
    line = SweepCheckpoint.left_behind(stopped, later)
    assert line == "was of commit abc, this one is of def"
    elsewhere = {**later, "machine": "another"}
    line = SweepCheckpoint.left_behind(stopped, elsewhere)
    assert line == "was of machine one, this one is of another"
    other = SweepCheckpoint.left_behind(stopped, {**WANTED, "cells": {}})
    assert other == "was of other files, cells or settings"
    SweepCheckpoint.open(stopped, WANTED, fresh=False).save(finished=True)
    assert SweepCheckpoint.left_behind(stopped, later) is None


def test_one_that_measured_nothing_is_nothing_left_behind(tmp_path):
    SweepCheckpoint.open(tmp_path / "s.json", WANTED, fresh=False).save()
    assert SweepCheckpoint.left_behind(tmp_path / "s.json", {"commit": "def"}) is None
    assert SweepCheckpoint.left_behind(tmp_path / "none.json", WANTED) is None


def test_each_choice_of_suites_has_a_file_of_its_own():
    names = {
        checkpoint.file(mode, regexes).name
        for mode in ("full", "quick")
        for regexes in (None, ["SeqLen"], ["SeqLen", "Width"])
    }
    assert len(names) == 6 and {"sweep-full.json", "sweep-quick.json"} <= names


def test_a_sweep_that_ended_with_all_its_passes_is_for_one_that_may_take_more(stopped):
    ended = replace(SweepCheckpoint.open(stopped, WANTED, fresh=False), all_passes=2)
    ended.save()
    for passes, goes_on in ((1, False), (2, False), (3, True), (None, True)):
        state = SweepCheckpoint.open(stopped, WANTED, fresh=False, passes=passes)
        assert (state == ended) == goes_on
