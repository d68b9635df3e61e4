import json
import re
import signal
import time

import pytest
from sweep_processes import rows

from cputrain.experiment import Experiment
from cputrain.machine import lock
from cputrain.record.worker import step_s
from cputrain.results import records

pytestmark = pytest.mark.tools


def test_bad_cells_are_reasons_and_the_sweep_goes_on(trial):
    status, out = trial.run("--bench", "Bad")
    assert status == 1, out
    by_cell = rows(trial)
    assert by_cell["Bad", "preload"]["status"] == "failed"
    assert "preload of /nowhere/lib.so: asked for mapped, found not mapped" in out
    assert by_cell["Bad", "slow"]["status"] == "timed out"
    assert by_cell["Bad", "huge"]["status"] == "skipped"
    assert "4096" in by_cell["Bad", "huge"]["reason"]
    good = by_cell["Bad", "good"]
    assert good["status"] == "ok" and good["step_s"] > 0
    assert "Traceback" not in out


def test_asked_to_stop_it_stops_everything_and_says_so(trial, tmp_path_factory):
    temporary = tmp_path_factory.mktemp("t")  # short, as the paths of sockets have to be
    trial.env["TMPDIR"] = str(temporary)
    process = trial.start("run", "--offline", "--passes", "1", "--bench", "First|Second")
    trial.wait_for("output/*/First/1/run.json", process)
    process.terminate()
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM
    assert "the next run goes on" in out and "Traceback" not in out
    trial.wait_for_the_end()
    assert not list(temporary.glob("cputrain-*"))


def test_a_temporary_folder_too_long_for_sockets_is_said_and_not_used(trial, tmp_path):
    """As clusters have them: asv's socket and the conductor's cannot be made below it."""
    temporary = tmp_path / ("node" * 10) / ("job" * 10)
    temporary.mkdir(parents=True)
    trial.env["TMPDIR"] = str(temporary)
    status, out = trial.run("--bench", "First")
    assert status == 0, out
    said = f"bench.py: TMPDIR is {len(str(temporary))} bytes long, and sockets have room up to 75"
    assert f"{said}: /tmp is used" in out
    assert rows(trial)["First", "1"]["status"] == "ok"


def test_quick_never_overwrites_full_results(trial):
    status, out = trial.run("--bench", "First")
    assert status == 0, out
    full = rows(trial)["First", "1"]
    trial.env["CPUTRAIN_MEASURE_S"] = "1"
    status, out = trial.run("--bench", "First", "--quick")
    assert status == 0, out
    assert out.count("measuring matrix products") == 1  # not again at its end
    again = rows(trial)["First", "1"]
    assert again["mode"] == "full" and again["step_s"] == full["step_s"]
    assert (trial.output / "quick" / "First" / "1" / "run.json").exists()


def test_the_stored_number_is_the_worker_s_own_clock(trial):
    trial.env["CPUTRAIN_MEASURE_S"] = "2"
    status, out = trial.run("--bench", "First")
    assert status == 0, out
    assert out.count("measuring matrix products") == 2
    assert re.search(r"^ +2 +[\d.]+ m?s a step +[\d,]+ tokens/s +-", out, re.MULTILINE)
    assert re.search(r"First .* 2: .* 1: |First .* 1: .* 2: ", out)
    (worker,) = trial.record("First/2")["workers"]
    (kept,) = (trial.folder / "result" / "asv").glob("*/machine.json")
    facts = json.loads(kept.read_text())
    measured = trial.folder / "result" / kept.parent.name / "machine.json"
    why = json.loads(measured.read_text())["unknown_facts"]
    assert {name for name, value in facts.items() if value is None} <= set(why)
    (path,) = (trial.folder / "result" / "asv").glob("*/*-*.json")
    stored = json.loads(path.read_text())["results"]["trial.First.time_train_steps"][0][1]
    (path,) = trial.folder.glob("output/*/First/2/run.json")
    number = step_s(records.read_file(path).workers)
    assert stored == pytest.approx(number, rel=1e-4)  # asv keeps five digits
    assert rows(trial)["First", "2"]["step_s"] == number
    # How many blocks there are depends on how long a warm step took, and here others may run.
    steps = [len(sample["step_s"]) for sample in worker["samples"]]
    assert {*steps} == {3} and 2 <= len(steps) <= Experiment().budget.samples
    assert worker["trained"]["steps_asked"] == worker["trained"]["steps_done"]
    assert all(check["ok"] for check in worker["in_force"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "--bench", "Nonesuch"], "no suite matches 'Nonesuch'; there are First"),
        (["run", "--passes", "0"], "'0' is not a whole number"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(trial, words, named):
    process = trial.start(*words)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert named in out and "Traceback" not in out


def test_corrupt_data_is_one_line_and_status_2(trial):
    (trial.folder / "data").mkdir()
    (trial.folder / "data" / "corpus.json").write_text('{"rows": [')
    status, out = trial.run("--bench", "First")
    assert status == 2
    assert "corpus.json is damaged" in out and "delete it" in out and "Traceback" not in out


def test_a_folder_that_cannot_be_is_one_line_and_status_2(trial):
    (trial.folder / "result").write_text("a file where a folder belongs")
    status, out = trial.run("--bench", "First")
    assert status == 2, out
    assert str(trial.folder / "result") in out and "Traceback" not in out


def test_a_result_file_that_broke_off_loses_no_suite_that_was_done(trial):
    """asv rewrites one file for all suites of a commit, in place."""
    status, out = trial.run("--bench", "First")
    assert status == 0, out
    before = rows(trial)["First", "1"]["step_s"]
    status, out = trial.run("--bench", "Second.*1")
    assert status == 0, out
    (path,) = (trial.folder / "result" / "asv").glob("*/*-*.json")
    path.write_bytes(path.read_bytes()[:700])
    status, out = trial.run("--bench", "Second")
    assert status == 0, out
    assert "broke off in the middle; its last whole copy is in its place" in out
    by_cell = rows(trial)
    assert by_cell["First", "1"]["step_s"] == before
    assert by_cell["Second", "2"]["status"] == "ok"


def test_a_pattern_that_backtracks_is_one_line_and_keeps_nobody_waiting(trial):
    text = (trial.suites / "trial.py").read_text()
    (trial.suites / "trial.py").write_text(text.replace("class First", f"class {'First' * 9}"))
    process = trial.start("run", "--bench", r"(\w+)+!")
    while process.poll() is None:
        lock.hold(trial.lock).close()  # the machine is free meanwhile
        time.sleep(0.2)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    (line,) = out.strip().splitlines()
    assert "takes more than 10 s to match" in line


def test_stopped_in_its_set_up_it_is_one_line(trial):
    process = trial.start("run", "--offline")
    trial.wait_for(".asv/logs", process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert out.strip().splitlines()[-1].startswith("bench.py: stopped") and "Traceback" not in out
