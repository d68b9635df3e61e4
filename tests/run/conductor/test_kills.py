"""SIGKILL of every process of a run in the middle of a pair; `--kills 20` repeats each."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from made_cells import LONG, TORCH, Run, ends, goes_on, in_a_pair, is_stopped, last_record
from made_families import wait_until
from settled import settled

from cputrain.machine import processes
from cputrain.run import placement

pytest.importorskip("threadpoolctl")
pytest.importorskip("safetensors")


def test_a_killed_cell_leaves_the_reference_stopped_and_alive(run, kill):
    cell, reference, worker = in_a_pair(run, kill)
    cell.end()
    wait_until(lambda: not processes.lives(worker), "the cell's worker is left")
    wait_until(lambda: is_stopped(reference), "the reference is not stopped")
    half = last_record(run.root, "one")
    assert half.status == "unproven" and len(half.samples) >= 3  # nothing finished is lost
    assert goes_on(run) == half.reference
    assert run.look() == [reference] and is_stopped(reference)
    ends(run)


def test_a_killed_worker_is_a_failed_cell_with_one_line(run, kill):
    cell, reference, worker = in_a_pair(run, kill)
    os.kill(worker, signal.SIGKILL)
    line = cell.rest()[-1]
    failed = last_record(run.root, "one")
    assert line == f"failed {failed.reason}" and failed.status == "failed"
    assert failed.reason.startswith("killed by SIGKILL while training")
    assert goes_on(run) == failed.reference
    assert run.look() == [reference] and is_stopped(reference)
    ends(run)


def test_a_killed_reference_is_a_failed_cell_and_the_next_has_a_new_one(run, kill):
    cell, reference, worker = in_a_pair(run, kill)
    os.kill(reference, signal.SIGKILL)
    line = cell.rest()[-1]
    failed = last_record(run.root, "one")
    assert line == f"failed {failed.reason}" and failed.status == "failed"
    assert failed.reason.startswith("the reference beside it: killed by SIGKILL while training")
    wait_until(lambda: not processes.lives(worker), "the cell's worker is left")
    assert goes_on(run) != failed.reference
    assert reference not in run.look()
    ends(run)


def test_a_reference_killed_between_cells_costs_no_cell(run):
    first = goes_on(run, "one")
    (reference,) = run.look()
    os.kill(reference, signal.SIGKILL)
    assert goes_on(run, "two") != first
    ends(run)


@pytest.mark.parametrize("killed", ["conductor", "starter"])
def test_a_killed_conductor_or_starter_leaves_nothing(run, killed, kill):
    cell, _, _ = in_a_pair(run, kill)
    os.kill(run.conductor if killed == "conductor" else run.starter.pid, signal.SIGKILL)
    line = cell.rest()[-1]
    assert line.startswith("failed the conductor, which owns the workers, died; its log is ")
    run.none_is_left()
    failed = last_record(run.root, "one")
    assert failed.status == "failed" and len(failed.samples) >= 3


def test_a_killed_starter_leaves_no_socket(run):
    goes_on(run, "one")
    os.kill(run.starter.pid, signal.SIGKILL)
    run.none_is_left()
    assert not Path(run.path).parent.exists()


def test_a_killed_cell_with_a_conductor_of_its_own_leaves_nothing(run, kill):
    cell = run.cell("one", samples=LONG, alone=True)
    while (words := cell.line())[:2] != ["pair", "2"]:
        assert words and words[0] == "pair", words
    time.sleep(random.Random(kill).uniform(0.0, 0.4))
    cell.end()
    run.none_is_left(but=run.conductor)
    assert goes_on(run)
    ends(run)


def test_a_killed_parent_of_forked_workers_takes_nobody_with_it(torch_run, kill):
    run = torch_run
    cell, reference, worker = in_a_pair(run, kill)
    (parent,) = run.parents()
    os.kill(parent, signal.SIGKILL)
    assert cell.line()[0] == cell.line()[0] == "pair"
    cell.end()
    wait_until(lambda: not processes.lives(worker), "the cell's worker is left")
    goes_on(run)
    assert last_record(run.root, "two").forked
    assert run.look() == [reference] and run.parents() != [parent]
    ends(run)


def test_with_forked_workers_a_kill_leaves_as_little(torch_run, kill):
    """One run for all, as its parent has to import torch."""
    run = torch_run
    for killed in ("cell", "worker", "reference"):
        cell, reference, worker = in_a_pair(run, kill)
        victims = {"cell": cell.pid, "worker": worker, "reference": reference}
        os.kill(victims[killed], signal.SIGKILL)
        cell.rest()
        wait_until(lambda worker=worker: not processes.lives(worker), "the worker is left")
        if killed == "reference":
            assert not processes.lives(reference)
        else:
            wait_until(lambda pid=reference: is_stopped(pid), "the reference is not stopped")
        goes_on(run)
        assert last_record(run.root, "two").forked
    in_a_pair(run, kill)
    os.kill(run.conductor, signal.SIGKILL)
    run.none_is_left()


def test_processes_that_torchrun_started_end_with_a_killed_conductor(root, kill):
    pytest.importorskip("torch")
    changes = {**TORCH, "threads": None, "processes": 2, "batch_size": 2}
    if (reason := placement.why_not(settled(**changes))) is not None:
        pytest.skip(reason)
    run = Run(root, changes)
    try:
        cell = run.cell("one", samples=LONG)
        assert cell.line()[0] == "pair"
        time.sleep(random.Random(kill).uniform(0.0, 0.4))
        assert len(run.look()) >= 6  # two of torchrun's, and two ranks of each
        os.kill(run.conductor, signal.SIGKILL)
        run.none_is_left()
    finally:
        run.end()
