"""The best checkpoint of a run stays, also where a kill came before `best.json` said it."""

import errno
from types import SimpleNamespace

import pytest
from settled import settled

from cputrain.record import files
from cputrain.record.plan import TrainingPlan
from cputrain.worker.training import checkpoints
from cputrain.worker.training.saving import Saving

np = pytest.importorskip("numpy")
pytest.importorskip("safetensors")
SMALL = settled(n_layer=1, n_embd=32, n_head=2, seq_len=16, engine="numpy")
PLAN = TrainingPlan(steps=1000)


def saving(folder):
    """The checkpoints of a run whose engine has one weight."""
    engine = SimpleNamespace(weights=lambda: {"w": np.ones(2)}, load_weights=lambda _: None)
    hand = SimpleNamespace(state=dict, load_state=lambda _: None)
    given = (SMALL, PLAN, folder, "data", engine, hand, lambda: None, lambda _: None)
    return Saving(*given)


def trained(saved, step, loss):
    """Train up to a step, with a validation loss after it; a checkpoint is written in any case."""
    saved._engine.steps_done = step
    saved.validated(step, loss)
    saved.save(step)


@pytest.fixture
def cut(tmp_path, monkeypatch):
    """A run that ended after step 300, its best, before `best.json` was written."""
    saved = saving(tmp_path)
    trained(saved, 100, 3.0)
    trained(saved, 200, 4.0)
    write = files.write

    def full(path, value):
        if path.name == checkpoints.BEST:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, value)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", full)
        with pytest.raises(OSError, match="No space left"):
            trained(saved, 300, 2.0)
    assert checkpoints.pointed(tmp_path, checkpoints.BEST) == 100
    return tmp_path


def test_a_run_that_goes_on_from_its_best_keeps_it(cut):
    saved = saving(cut)
    saved.take_up(300)
    assert checkpoints.pointed(cut, checkpoints.BEST) == 300
    for step in (400, 500):
        trained(saved, step, 5.0)
    assert checkpoints.steps(cut) == [300, 400, 500]


def test_what_the_last_checkpoint_says_is_the_best_is_not_deleted(cut, monkeypatch):
    saved = saving(cut)
    monkeypatch.setattr(checkpoints, "point_to_best", lambda *_: None)
    saved.take_up(300)
    for step in (400, 500):
        trained(saved, step, 5.0)
    assert checkpoints.steps(cut) == [100, 300, 400, 500]


def test_a_best_that_lies_behind_is_forgotten(tmp_path):
    saved = saving(tmp_path)
    for step, loss in ((100, 4.0), (200, 5.0), (300, 3.0), (400, 3.5)):
        trained(saved, step, loss)
    assert checkpoints.steps(tmp_path) == [300, 400]
    again = saving(tmp_path)
    again.take_up(300)
    assert checkpoints.pointed(tmp_path, checkpoints.BEST) == again.best_step == 300
    checkpoints.point_to_best(tmp_path, 100)  # which was deleted
    assert not (tmp_path / "checkpoints" / checkpoints.BEST).exists()
