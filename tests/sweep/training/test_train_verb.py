"""The whole verb, by processes as people start it: stopped, gone on with, ended, told of."""

import csv
import json
import signal
import time

import pytest

pytestmark = pytest.mark.tools

MODEL = ("--engine", "numpy", "--n-layer", "1", "--n-embd", "32", "--n-head", "2")
TRAIN = ("train", *MODEL, "--seq-len", "32", "--rows", "60", "--offline", "--clip", "1")


def finished(process):
    out, _ = process.communicate(timeout=240)
    return process.returncode, out


def test_a_run_that_ctrl_c_stops_goes_on_and_ends(trial):
    process = trial.start(*TRAIN, "--steps", "1000000", "--save-every", "20", "--out", "mine")
    trial.wait_for("output/*/train/mine/checkpoints/latest.json", process)
    process.send_signal(signal.SIGINT)
    status, out = finished(process)
    assert status == 130, out
    assert "python3 bench.py train --resume mine goes on from there" in out
    assert not trial.processes()
    folder = trial.output / "train" / "mine"
    step = json.loads((folder / "checkpoints" / "latest.json").read_text())["step"]

    status, out = finished(trial.start(*TRAIN, "--steps", "1000000", "--out", "mine"))
    assert status == 2 and f"has a run, saved at step {step} of 1000000" in out

    status, out = finished(trial.start("train", "--resume", "mine", "--steps", str(step)))
    assert status == 2 and f"step {step} is done already" in out

    words = ("train", "--resume", "mine", "--steps", str(step + 30), "--offline")
    status, out = finished(trial.start(*words))
    assert status == 0, out
    assert f"going on with mine after step {step}" in out
    assert (
        f"step {step + 30} of" in out.replace("\u2009", " ").replace(f"{step + 30:,}", "")
        or f"{step + 30} steps of" in out
    )
    assert "no projection of this training was made before it" in out
    assert "time: imports " in out and ", saving " in out
    (page,) = trial.folder.glob("result/*/runs.md")
    assert "| mine | numpy |" in page.read_text() and "stopped 1x, resumed 1x" in page.read_text()
    assert f"all runs: {page.relative_to(trial.folder)}" in out
    rows = list(csv.DictReader((folder / "progress.csv").read_text().splitlines()))
    assert [int(row["step"]) for row in rows] == list(range(1, step + 31))
    record = json.loads((folder / "train.json").read_text())
    assert [stretch["ended"] for stretch in record["stretches"]] == ["stopped", "done"]
    assert record["ended"]["is_done"] and record["worker"]["in_force"]
    assert (folder / "model.safetensors").exists()


def test_a_run_that_could_not_write_its_model_is_finished_without_a_step(trial):
    status, out = finished(trial.start(*TRAIN, "--steps", "30", "--out", "mine"))
    assert status == 0, out
    folder = trial.output / "train" / "mine"
    model, curve = (
        (folder / "model.safetensors").read_bytes(),
        (folder / "progress.csv").read_text(),
    )
    (folder / "model.safetensors").unlink()
    record = json.loads((folder / "train.json").read_text())
    record["stretches"][0] |= {"ended": "failed", "reason": "No space left on device"}
    (folder / "train.json").write_text(json.dumps({**record, "ended": None}))

    status, out = finished(trial.start("train", "--resume", "mine", "--offline"))
    assert status == 0, out
    assert "going on with mine after step 30" in out and "30 steps of 30" in out
    assert (folder / "model.safetensors").read_bytes() == model
    assert (folder / "progress.csv").read_text() == curve
    again = json.loads((folder / "train.json").read_text())
    assert [stretch["ended"] for stretch in again["stretches"]] == ["failed", "done"]
    assert again["ended"]["is_done"] and again["ended"]["loss"] is None
    assert again["worker"]["in_force"] == record["worker"]["in_force"]
    (page,) = trial.folder.glob("result/*/runs.md")
    assert "resumed 1x" in page.read_text()


def test_a_stopped_run_that_cannot_be_saved_says_why(trial):
    process = trial.start(*TRAIN, "--steps", "1000000", "--out", "mine")
    trial.wait_for("output/*/train/mine/progress.csv", process)
    folder = trial.output / "train" / "mine"
    (folder / "checkpoints").write_text("")  # a file in the folder's place
    while len((folder / "progress.csv").read_text().splitlines()) < 2:
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    status, out = finished(process)
    assert status == 130, out
    last = out.strip().split("\n")[-1]
    assert last.startswith("bench.py: stopped; FileExistsError: ") and "checkpoints" in last
    assert "nothing was saved yet" in last
