"""A run's record on a disk that takes nothing for a while: the run goes on, and says so once."""

import errno
import json
import signal
from types import SimpleNamespace

import pytest
from settled import settled

from cputrain.errors import RunError
from cputrain.record import files
from cputrain.record.answers import Failed
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import Ended, Kept
from cputrain.record.trained import Stretch, TrainRecord
from cputrain.run import recording
from cputrain.run.session import Session
from cputrain.sweep.progress import Progress
from cputrain.sweep.training.following import Following
from cputrain.sweep.training.verb import TrainingRun

pytestmark = pytest.mark.tools
MODEL = ("--engine", "numpy", "--n-layer", "1", "--n-embd", "32", "--n-head", "2")
TRAIN = ("train", *MODEL, "--seq-len", "32", "--rows", "60", "--offline", "--save-every", "20")
FULL = "No space left on device: the record is not written"
ON = "python3 bench.py train --resume mine goes on from there"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of which nothing is written yet; its disk can be `full`, and it has `said` lines."""
    worker = recording.opened(Session.from_env(), settled(n_layer=1, n_embd=32, n_head=2))
    plan = TrainingPlan(steps=40)
    begun = Stretch(started=worker.started, done=0, last=0, processes=1)
    record = TrainRecord(name="mine", plan=plan, worker=worker, stretches=[begun])
    run = TrainingRun(SimpleNamespace(plan=plan, name="mine"))
    run.following = Following(tmp_path, record, Progress())
    run.disk, run.said, write = SimpleNamespace(is_full=False), [], files.write
    monkeypatch.setattr(run.following._progress, "say", run.said.append)

    def written(path, value):
        if run.disk.is_full:
            raise OSError(errno.ENOSPC, "No space left on device", f"{path}.tmp")
        write(path, value)

    monkeypatch.setattr(files, "write", written)
    return run


def kept(step):
    return files.encode(Kept(step=step))


def test_a_write_that_fails_is_told_once_and_the_next_one_has_it_all(run, tmp_path):
    run.disk.is_full = True
    for step in (10, 20):
        run.following.take(kept(step), 1.0)
    assert run.said == [
        f"{tmp_path}/train.json: {FULL}; the run goes on, and tries again at its next checkpoint"
    ]
    run.disk.is_full = False
    run.following.take(kept(30), 2.0)
    (stretch,) = json.loads((tmp_path / "train.json").read_text())["stretches"]
    assert stretch["last"] == run.following.saved == 30


def test_the_last_write_that_fails_says_where_why_and_how_to_go_on(run, tmp_path):
    run.following.take(kept(40), 1.0)
    ended = Ended(step=40, is_done=True, training_s=1.0, loss=2.0)
    run.following.take(files.encode(ended), 1.0)
    run.disk.is_full = True
    with pytest.raises(RunError) as caught:
        run._close("status 0", 1.0)
    assert str(caught.value) == f"{tmp_path}/train.json: {FULL}; saved at step 40 of 40: {ON}"


def test_it_hides_neither_why_a_run_failed_nor_that_it_was_stopped(run, tmp_path, capfd):
    run.following.take(kept(10), 1.0)
    run.disk.is_full = True
    run.following.take(files.encode(Failed(status="failed", reason="killed by SIGKILL")), 1.0)
    line = f"{tmp_path}/train.json: {FULL}; saved at step 10 of 40: {ON}"
    with pytest.raises(RunError) as caught:
        run._close("status 1", 1.0)
    assert str(caught.value) == f"killed by SIGKILL; {line}"
    run._signal = signal.SIGTERM
    with pytest.raises(SystemExit) as ended:
        run._close("status 1", 1.0)
    assert ended.value.code == 143
    assert capfd.readouterr().err == f"bench.py: stopped; killed by SIGKILL; {line}\n"


def test_a_real_run_goes_on_without_its_record(trial):
    process = trial.start(*TRAIN, "--steps", "1000000", "--out", "mine")
    checkpoints = "output/*/train/mine/checkpoints"
    trial.wait_for(f"{checkpoints}/latest.json", process)
    folder = trial.output / "train" / "mine"
    aside = folder / "aside.json"
    while not (folder / "train.json").is_dir():  # a folder in its place, which no file replaces
        (folder / "train.json").rename(aside)
        try:
            (folder / "train.json").mkdir()
        except FileExistsError:
            continue
    step = json.loads((folder / "checkpoints" / "latest.json").read_text())["step"] + 100
    while json.loads((folder / "checkpoints" / "latest.json").read_text())["step"] < step:
        assert process.poll() is None, process.stdout.read()
    (folder / "train.json").rmdir()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 130, out
    assert out.count("the record is not written; the run goes on") == 1
    step = json.loads((folder / "checkpoints" / "latest.json").read_text())["step"]
    (stretch,) = json.loads((folder / "train.json").read_text())["stretches"]
    assert (stretch["last"], stretch["ended"]) == (step, "stopped")
