"""Real runs that end by their patience, and by it alone."""

import pytest
from test_trained_worker import SMALL
from trained_runs import Run

from cputrain.record.notices import Memory
from cputrain.record.train import Ended, Kept
from cputrain.worker.training import checkpoints

np = pytest.importorskip("numpy")
FLAT = SMALL.but(learning_rate=1e-30)
"""Its weights stay as they are, and so does the validation loss."""


def test_without_patience_it_does_not_end_early(own_root):
    last = Run(own_root, "off", FLAT).train()[-1]
    assert isinstance(last, Ended) and last.step == 24 and last.waited is None


def test_it_ends_after_so_many_evaluations_and_saves_the_last_model(own_root):
    run = Run(own_root, "flat", FLAT, patience=2, steps=60)
    answers = run.train()
    last = answers[-1]
    assert isinstance(last, Ended), last
    assert (last.step, last.best_step, last.waited, last.is_done) == (18, 6, 2, True)
    assert [int(row["step"]) for row in run.rows] == list(range(1, 19))
    assert checkpoints.pointed(run.folder, checkpoints.BEST) == 6
    assert checkpoints.read(run.folder, 18).waited == 2
    assert (run.folder / last.model_file).exists()
    (memory,) = [answer for answer in answers if isinstance(answer, Memory)]
    assert 0 < memory.used_bytes <= memory.limit_bytes and memory.step == 0


def test_killed_and_resumed_it_ends_at_the_same_step(own_root):
    run = Run(own_root, "cut", FLAT, patience=2, steps=60)
    with run.start() as process:
        run.until(Kept, 12, process)
        process.kill()
    resumed = checkpoints.pointed(run.folder, checkpoints.LATEST)
    assert resumed in (12, 16)
    last = run.train(resume=resumed)[-1]
    assert isinstance(last, Ended) and (last.step, last.best_step, last.waited) == (18, 6, 2)


def test_with_more_patience_it_goes_on_from_there(own_root):
    run = Run(own_root, "more", FLAT, patience=1, steps=60)
    assert run.train()[-1].step == 12
    last = run.train(resume=12, patience=4)[-1]
    assert isinstance(last, Ended) and (last.step, last.waited) == (30, 4)


def test_a_lower_loss_begins_the_count_anew(own_root):
    run = Run(own_root, "learns", SMALL, patience=2)
    last = run.train()[-1]
    assert last.step == 24 and last.waited is None
    assert last.best_step > 6
