"""The verb with two processes, as people start it: stopped, killed, gone on with."""

import json
import os
import signal
import time

import pytest

from cputrain.machine import processes
from cputrain.machine.topology import read_topology

pytestmark = pytest.mark.tools

MODEL = ("--n-layer", "1", "--n-embd", "32", "--n-head", "2", "--seq-len", "32", "--rows", "60")
TRAIN = ("train", *MODEL, "--batch-size", "4", "--offline", "--nproc", "2", "--steps", "1000000")


def finished(process):
    out, _ = process.communicate(timeout=240)
    return process.returncode, out


@pytest.fixture(autouse=True)
def _two_cores():
    if read_topology().physical_cores < 2:
        pytest.skip("two processes need two cores")


def rank(trial, number):
    """The process of a rank."""
    root = str(trial.folder)
    (pid,) = [
        pid
        for pid in processes.marked("CPUTRAIN_ROOT", root)
        if f"RANK={number}".encode() in processes.environment(pid)
    ]
    return pid


def test_ctrl_c_saves_a_killed_rank_is_named_and_both_are_gone_on_with(trial):
    process = trial.start(*TRAIN, "--save-every", "20", "--out", "mine")
    trial.wait_for("output/*/train/mine/checkpoints/latest.json", process)
    process.send_signal(signal.SIGINT)
    status, out = finished(process)
    assert status == 130, out
    assert "python3 bench.py train --resume mine goes on from there" in out
    assert "2 processes, each with 2 sequences of 1 micro-batch and 1 thread; CPUs" in out
    assert not processes.marked("CPUTRAIN_ROOT", str(trial.folder))
    latest = trial.output / "train" / "mine" / "checkpoints" / "latest.json"
    step = json.loads(latest.read_text())["step"]

    process = trial.start("train", "--resume", "mine", "--offline")
    end = time.monotonic() + 120
    while json.loads(latest.read_text())["step"] < step + 40:
        assert process.poll() is None and time.monotonic() < end, process.stdout.read()
        time.sleep(0.05)
    os.kill(rank(trial, 1), signal.SIGKILL)
    status, out = finished(process)
    assert status == 1, out
    last = out.strip().split("\n")[-1]
    assert "rank 1 killed by SIGKILL while training" in last and "--resume mine goes on" in last
    assert not processes.marked("CPUTRAIN_ROOT", str(trial.folder))

    step = json.loads(latest.read_text())["step"]
    words = ("train", "--resume", "mine", "--offline", "--nproc", "1", "--steps", str(step + 30))
    status, out = finished(trial.start(*words))
    assert status == 0, out
    assert "2 processes before, 1 from here on" in out
    assert "trained by 1 and by 2 processes in turns: there is no projection of that" in out
    record = json.loads((latest.parent.parent / "train.json").read_text())
    assert [stretch["processes"] for stretch in record["stretches"]] == [2, 2, 1]
    assert [stretch["ended"] for stretch in record["stretches"]] == ["stopped", "failed", "done"]
    assert "rank 1 killed" in record["stretches"][1]["reason"]
