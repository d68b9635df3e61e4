"""A run that nobody listens to any more: it goes on, and asked to stop it saves."""

import json
import os
import pty
import signal
import subprocess
import time

import pytest

pytestmark = pytest.mark.tools

MODEL = ("--engine", "numpy", "--n-layer", "1", "--n-embd", "32", "--n-head", "2")
TRAIN = ("train", *MODEL, "--seq-len", "32", "--rows", "60", "--offline", "--save-every", "20")
LINES_S = 2.5
"""In which a run of less than a minute prints some lines."""


@pytest.fixture(autouse=True)
def hang_ups_are_heard():
    """Also where the tests were started by nohup, which runs leave as it is."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("made", "number"), [(os.pipe, signal.SIGINT), (pty.openpty, signal.SIGHUP)]
)
def test_a_run_goes_on_unread_and_saves_when_it_is_stopped(trial, made, number):
    ours, theirs = made()
    process = trial.start(*TRAIN, "--steps", "1000000", "--out", "mine", stdout=theirs)
    os.close(theirs)
    trial.wait_for("output/*/train/mine/checkpoints/latest.json", process)
    os.close(ours)  # from now on its lines are EPIPE, or EIO
    latest = trial.output / "train" / "mine" / "checkpoints" / "latest.json"
    time.sleep(LINES_S)
    assert process.poll() is None
    process.send_signal(number)
    assert process.wait(timeout=120) == 128 + number
    assert not trial.processes()
    step = json.loads(latest.read_text())["step"]
    (stretch,) = json.loads((latest.parent.parent / "train.json").read_text())["stretches"]
    assert stretch["ended"] == "stopped" and stretch["last"] == step
    assert len((latest.parent.parent / "progress.csv").read_text().splitlines()) == step + 1


def test_that_nobody_reads_is_told_on_standard_error_once(trial):
    ours, theirs = os.pipe()
    os.close(ours)
    words = (*TRAIN, "--steps", "30", "--out", "mine")
    process = trial.start(*words, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert err == "bench.py: standard output: Broken pipe: no more is printed; the run goes on\n"
    assert (trial.output / "train" / "mine" / "model.safetensors").exists()
