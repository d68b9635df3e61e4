"""Real turns: processes, workers and their records."""

import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from settled import settled

pytest.importorskip("torch")


from cputrain.results import records
from cputrain.run import stacks
from cputrain.run.session import Session
from cputrain.sweep import plan
from cputrain.sweep.side_by_side import lineup
from cputrain.sweep.side_by_side.rounds import Rounds

SMALL = settled(n_layer=1, n_embd=64, seq_len=32, cores=1)
SMALL = SMALL.but(steps=2, samples=2, tries=1, warm_up_steps=2)
NUMPY = SMALL.but(engine="numpy", attention_backend="manual")


def block(**experiments):
    """One block, by engine."""
    cells = (plan.PlannedCell(("Shape", n, 1), e, None) for n, e in experiments.items())
    return plan.Planned("", "", object, tuple(cells))


@pytest.fixture
def run(own_root):
    """A run in a folder of its own."""
    return made(own_root)


def made(root, python=sys.executable, session="one"):
    told = Session(id=session, run=session, machine="here", offline=True, model_cap_bytes=0)
    pythons = {stacks.MAIN: Path(python)}
    return Rounds(root / "output" / "here" / "engines", pythons, told, 3)


def take(run, planned, rounds=1):
    """The turns taken: engine, status."""
    told = []
    turns = list(lineup.turns([planned], rounds, seed=3))
    run.take(turns, lambda turn, worker, left: told.append((turn, worker, left)))
    return told


def test_two_engines_train_in_turns_and_leave_records(run):
    planned = block(torch=SMALL, numpy=NUMPY)
    told = take(run, planned, rounds=2)
    assert [worker.status for _, worker, _ in told] == ["ok"] * 4
    assert (run.done, run.lost) == (4, {})
    assert all(left > 0 for _, _, left in told[:-1]) and told[-1][2] == 0
    places = {}
    for cell in planned.cells:
        workers = run.workers(cell)
        assert [w.turn.round for w in workers] == [1, 2]
        for worker in workers:
            assert worker.trained.parameters_moved == worker.trained.parameters
            assert worker.in_force and len(worker.samples) == 2
            assert worker.turn.seed == 3
            places[worker.turn.place] = worker.experiment["runtime"]["engine"]
        assert not list(run.folder.glob(f"{cell.name}/*.safetensors"))
    assert [places[i] for i in (1, 2, 3, 4)] == [turn.cell.values[1] for turn, _, _ in told]
    first = {w.experiment["runtime"]["engine"]: w.first_loss for _, w, _ in told}
    assert first["torch"] == pytest.approx(first["numpy"], rel=1e-4)


def test_a_later_run_counts_its_own_workers_only(run, own_root):
    planned = block(numpy=NUMPY)
    take(run, planned)
    second = made(own_root, session="two")
    assert second.workers(planned.cells[0]) == []
    take(second, planned)
    assert len(second.workers(planned.cells[0])) == len(run.workers(planned.cells[0])) == 1


def test_an_engine_that_fails_costs_its_own_cells_and_takes_no_more_turns(run):
    planned = block(numpy=NUMPY, bad=NUMPY.but(learning_rate=0.0))
    told = take(run, planned, rounds=2)
    statuses = [(turn.cell.values[1], worker.status) for turn, worker, _ in told]
    assert sorted(statuses) == [("bad", "failed"), ("numpy", "ok"), ("numpy", "ok")]
    (lost,) = run.lost.values()
    assert lost[0] == "failed" and "DidNotTrain" in lost[1]


def test_what_the_machine_has_not_is_skipped_with_the_reason(run):
    ipex = SMALL.but(engine="ipex")
    planned = block(ipex=ipex, numpy=NUMPY.but(cores=4096))
    planned = replace(
        planned, cells=(replace(planned.cells[0], why_not="not built"), planned.cells[1])
    )
    told = {turn.cell.values[1]: worker for turn, worker, _ in take_without_guess(run, planned)}
    assert (told["ipex"].status, told["ipex"].reason) == ("skipped", "not built")
    assert told["numpy"].status == "skipped" and "4096" in told["numpy"].reason


def take_without_guess(run, planned):
    """The turns one by one: nothing can be guessed of a cell that cannot be placed."""
    return [(turn, run.take_turn(turn), 0.0) for turn in lineup.turns([planned], 1, seed=3)]


def test_a_process_that_dies_is_a_failure_with_its_last_words(own_root):
    script = own_root / "python"
    script.write_text("#!/bin/sh\necho 'Illegal instruction' >&2\nexit 3\n")
    script.chmod(0o755)
    run = made(own_root, python=script)
    ((_, worker, _),) = take(run, block(numpy=NUMPY))
    assert worker.status == "failed"
    assert "status 3: Illegal instruction" in worker.reason


def test_the_end_of_a_turn_s_process_ends_the_worker_too_and_keeps_what_is_done(run, own_root):
    take(run, block(numpy=NUMPY))
    long = NUMPY.but(warm_up_steps=100_000, warm_up_s=100.0)
    thread = threading.Thread(target=take, args=(run, block(long=long)))
    thread.start()
    end = time.monotonic() + 60
    while not workers_of(own_root):
        assert time.monotonic() < end, "the worker never started"
        time.sleep(0.02)
    run.process._process.kill()
    thread.join(30)
    assert not thread.is_alive()
    while workers_of(own_root):
        assert time.monotonic() < end, "the worker lives on"
        time.sleep(0.02)
    assert run.lost["Shape", "long", 1][0] == "failed" and run.done == 1
    record = records.read_file(run.folder / "Shape-numpy-1" / "run.json")
    assert len(record.workers) == 1


def workers_of(root):
    """Workers whose results go below `root`."""
    wanted, pids = f"CPUTRAIN_ROOT={root}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environ = (folder / "environ").read_bytes().split(b"\0")
            if wanted in environ and b"cputrain.worker.job" in (folder / "cmdline").read_bytes():
                pids.append(int(folder.name))
        except OSError:
            continue
    return [pid for pid in pids if pid != os.getpid()]
