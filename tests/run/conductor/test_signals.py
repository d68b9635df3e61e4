"""Every other signal that may reach a process of a run in the middle of a pair."""

import contextlib
import os
import signal
import time

import pytest
from made_cells import NATIVE, Run, ends, goes_on, in_a_pair, is_stopped, last_record
from made_families import wait_until

from cputrain.machine import processes

pytest.importorskip("threadpoolctl")
pytest.importorskip("safetensors")

ENDING = [signal.SIGTERM, signal.SIGSEGV, signal.SIGILL]


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_a_worker_that_it_ends_is_a_failed_cell_with_one_line(run, kill, number):
    cell, reference, worker = in_a_pair(run, kill)
    os.kill(worker, number)
    line = cell.rest()[-1]
    failed = last_record(run.root, "one")
    assert line == f"failed {failed.reason}" and failed.status == "failed"
    assert failed.reason.startswith(f"killed by {number.name} while training")
    assert goes_on(run) == failed.reference
    assert run.look() == [reference] and is_stopped(reference)
    ends(run)


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_a_reference_that_it_ends_is_a_failed_cell_and_the_next_has_a_new_one(run, kill, number):
    cell, reference, worker = in_a_pair(run, kill)
    os.kill(reference, number)
    cell.rest()
    failed = last_record(run.root, "one")
    assert failed.reason.startswith(
        f"the reference beside it: killed by {number.name} while training"
    )
    wait_until(lambda: not processes.lives(worker), "the cell's worker is left")
    assert goes_on(run) != failed.reference
    ends(run)


@pytest.mark.parametrize("whose", ["conductor", "starter"])
def test_a_conductor_or_starter_that_is_asked_to_end_leaves_nothing(run, kill, whose):
    cell, _, _ = in_a_pair(run, kill)
    os.kill(run.conductor if whose == "conductor" else run.starter.pid, signal.SIGTERM)
    cell.rest()
    run.none_is_left()
    failed = last_record(run.root, "one")
    assert failed.status == "failed" and len(failed.samples) >= 3


def test_a_parent_of_forked_workers_that_is_asked_to_end_takes_nobody_with_it(torch_run, kill):
    cell, reference, worker = in_a_pair(torch_run, kill)
    (parent,) = torch_run.parents()
    os.kill(parent, signal.SIGTERM)
    assert cell.line()[0] == cell.line()[0] == "pair"
    cell.end()
    wait_until(lambda: not processes.lives(worker), "the cell's worker is left")
    goes_on(torch_run)
    assert torch_run.look() == [reference] and torch_run.parents() != [parent]
    ends(torch_run)


def test_ctrl_c_is_for_bench_py_alone_and_all_others_go_on(torch_run, kill):
    """A key in the terminal reaches all of its processes at once."""
    cell, reference, worker = in_a_pair(torch_run, kill)
    for pid in (torch_run.conductor, *torch_run.parents(), worker, reference):
        os.kill(pid, signal.SIGINT)
    assert cell.line()[0] == cell.line()[0] == "pair"
    cell.end()
    assert goes_on(torch_run) == last_record(torch_run.root, "one").reference
    ends(torch_run)


def test_a_worker_that_somebody_else_stops_is_ended_at_its_deadline(root, kill):
    run = Run(root, {**NATIVE, "deadline_s": 15})
    try:
        # Few pairs: those that others spoil are taken again, and both workers' seconds go on.
        cell, _, worker = in_a_pair(run, kill, samples=12)
        while processes.lives(worker):  # one stop may come in the turn of the reference
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGSTOP)
            time.sleep(0.02)
        line = cell.rest()[-1]
        failed = last_record(run.root, "one")
        assert line == f"failed {failed.reason}" and failed.status == "timed out"
        goes_on(run)
        ends(run)
    finally:
        run.end()
