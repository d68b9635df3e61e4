"""Event files, read back as TensorBoard reads them: each step once, also after a killed stretch."""

import csv
import json
import resource
import signal
import sys

import pytest

from cputrain.commands import cli
from cputrain.errors import UsageError
from cputrain.sweep.training import events
from cputrain.worker.training.table import Row, Table

pytestmark = pytest.mark.tools
MODEL = ("--engine", "numpy", "--n-layer", "1", "--n-embd", "32", "--n-head", "2")
SAID = "TensorBoard's files: {}; no more is written, the run goes on"
TRAIN = ("train", *MODEL, "--seq-len", "32", "--rows", "60", "--offline")


@pytest.fixture
def scalars():
    """A function that reads a folder's curves: (step, value) by tag."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def read(folder):
        accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        accumulator.Reload()
        return {
            tag: [(point.step, point.value) for point in accumulator.Scalars(tag)]
            for tag in accumulator.Tags()["scalars"]
        }

    return read


def event_files(folder, told=None):
    return events.EventFiles(folder, True, [].append if told is None else told.append)


def trained(table, steps, loss):
    for step in steps:
        row = Row(step, loss, 0.01, 0.5, 64.0, None)
        row.validation_loss = loss + 1 if step % 10 == 0 else None
        table.add(row)
    table.flush()


def test_every_step_has_its_values_and_a_killed_stretch_none(tmp_path, scalars):
    table, written = Table(tmp_path / "progress.csv", 0), event_files(tmp_path)
    for first in (1, 11, 21):
        trained(table, range(first, first + 10), 3.0)
        written.follow()
    assert [step for step, _ in scalars(tmp_path)["loss/training"]] == [*range(1, 31)]
    # Killed after step 30, of which 20 are kept; nobody closed the file.
    table, again = Table(tmp_path / "progress.csv", 20), event_files(tmp_path)
    trained(table, range(21, 41), 2.0)
    again.follow()
    again.close()
    curves = scalars(tmp_path)
    expected = [(step, 3.0 if step <= 20 else 2.0) for step in range(1, 41)]
    assert curves["loss/training"] == expected
    assert curves["loss/validation"] == [(10, 4.0), (20, 4.0), (30, 3.0), (40, 3.0)]
    assert curves["speed/tokens_per_s"][0] == (1, 64.0) and "speed/mfu" not in curves
    assert again.names == [path.name for path in tmp_path.glob("events.*")] != []


def test_a_row_that_is_half_written_waits(tmp_path, scalars):
    table, written = Table(tmp_path / "progress.csv", 0), event_files(tmp_path)
    trained(table, [1], 3.0)
    with (tmp_path / "progress.csv").open("a") as file:
        file.write("2,3.0,,0.01,")
        file.flush()
        written.follow()
        assert [step for step, _ in scalars(tmp_path)["loss/training"]] == [1]
        file.write("0.5,64.0,,2026-11-23T00:00:00+00:00,,,,\n")
    written.close()
    assert [step for step, _ in scalars(tmp_path)["loss/training"]] == [1, 2]


def test_what_cannot_be_written_is_said_and_ends_nothing(tmp_path):
    pytest.importorskip("tensorboard")
    told = []
    written = event_files(tmp_path, told)
    written.follow()  # there is no table
    written.close()
    assert told == [SAID.format("No such file or directory")]


def test_a_disk_that_takes_no_more_is_said_once(tmp_path, scalars):
    told = []
    table, written = Table(tmp_path / "progress.csv", 0), event_files(tmp_path, told)
    trained(table, range(1, 11), 3.0)
    written.follow()
    trained(table, range(11, 1001), 3.0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        written.follow()
        written.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert told == [SAID.format("File too large")]
    assert len(scalars(tmp_path)["loss/training"]) > 10


def test_nothing_is_written_that_was_not_asked_for(tmp_path):
    trained(Table(tmp_path / "progress.csv", 0), [1], 3.0)
    written = events.EventFiles(tmp_path, False, print)
    written.follow()
    written.close()
    assert [path.name for path in tmp_path.iterdir()] == ["progress.csv"]


def test_without_the_package_it_is_refused_with_the_command(own_root, monkeypatch, capsys):
    for name in ("tensorboard", *events.MODULES):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"-m pip install --editable .*\[tensorboard\]") as caught:
        events.require()
    assert sys.executable in str(caught.value)
    assert cli.main(["train", "--steps", "9", "--tensorboard"]) == 2
    error = capsys.readouterr().err
    assert "--tensorboard: " in error and "this installs it: " in error and error.count("\n") == 1
    assert not (own_root / "output").exists()


def test_a_whole_run_that_is_killed_and_gone_on_with(trial, scalars):
    words = (*TRAIN, "--save-every", "20", "--tensorboard", "--out", "mine")
    process = trial.start(*words, "--steps", "1000000")
    # The second checkpoint or a later one: each goes again, within a moment.
    trial.wait_for("output/*/train/mine/checkpoints/step-[!2]*.json", process)
    trial.wait_for("output/*/train/mine/events.out.tfevents.*", process)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=240)
    trial.wait_for_the_end()
    folder = trial.output / "train" / "mine"
    step = json.loads((folder / "checkpoints" / "latest.json").read_text())["step"]
    process = trial.start("train", "--resume", "mine", "--steps", str(step + 30), "--offline")
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, out
    (name,) = (path.name for path in folder.glob("events.*"))
    assert name in out and "memory: " in out
    rows = list(csv.DictReader((folder / "progress.csv").read_text().splitlines()))
    curves = scalars(folder)
    assert [at for at, _ in curves["loss/training"]] == [*range(1, step + 31)]
    assert curves["loss/training"] == [
        (int(row["step"]), pytest.approx(float(row["loss"]))) for row in rows
    ]
    record = json.loads((folder / "train.json").read_text())
    assert all(len(stretch["seen"]["memory"]) == 1 for stretch in record["stretches"])
