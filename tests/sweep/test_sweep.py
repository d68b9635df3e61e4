import json
import os
import re
import signal

import pytest

pytestmark = pytest.mark.tools

polars = pytest.importorskip("polars")


def rows(trial):
    table = polars.read_parquet(trial.folder / "result" / "results.parquet")
    return {(row["suite"], row["value"]): row for row in table.iter_rows(named=True)}


def test_bad_cells_are_reasons_and_the_sweep_goes_on(trial):
    status, out = trial.run("--bench", "Bad")
    assert status == 1, out
    found = rows(trial)
    assert found["Bad", "preload"]["status"] == "failed"
    assert "preload of /nowhere/lib.so: asked for mapped, found not mapped" in out
    assert found["Bad", "slow"]["status"] == "timed out"
    assert found["Bad", "huge"]["status"] == "skipped"
    assert "4096" in found["Bad", "huge"]["reason"]
    good = found["Bad", "good"]
    assert good["status"] == "ok" and good["step_s"] > 0
    assert "Traceback" not in out


def test_a_killed_sweep_leaves_nothing_running_and_goes_on(trial):
    process = trial.start("run", "--offline", "--rounds", "1", "--bench", "First|Second")
    trial.wait_for("output/*/Second/1/run.json", process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    trial.wait_for_the_end()
    before = trial.record("First/1")

    status, out = trial.run("--bench", "First|Second")
    assert status == 0, out
    assert "1 of 2 suites are done" in out
    assert trial.record("First/1") == before
    found = rows(trial)
    for (suite, _), row in found.items():
        assert row["status"] == ("skipped" if suite == "Bad" else "ok"), row
        assert row["step_s"] or row["reason"] == "not run"
        assert "no session" not in (row["reason"] or "")
    sessions = {w["session"] for c in ("First/1", "Second/2") for w in trial.record(c)["workers"]}
    assert len(sessions) == 1

    status, out = trial.run("--bench", "First", "--fresh")
    assert status == 0 and "suites are done" not in out
    assert len(trial.record("First/1")["workers"]) == 2


def test_asked_to_stop_it_stops_everything_and_says_so(trial):
    process = trial.start("run", "--offline", "--rounds", "1", "--bench", "First|Second")
    trial.wait_for("output/*/First/1/run.json", process)
    process.terminate()
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM
    assert "the next run goes on" in out and "Traceback" not in out
    trial.wait_for_the_end()


def test_quick_never_overwrites_full_results(trial):
    status, out = trial.run("--bench", "First")
    assert status == 0, out
    full = rows(trial)["First", "1"]
    status, out = trial.run("--bench", "First", "--quick")
    assert status == 0, out
    again = rows(trial)["First", "1"]
    assert again["mode"] == "full" and again["step_s"] == full["step_s"]
    assert (trial.output / "quick" / "First" / "1" / "run.json").exists()


def test_the_stored_number_is_the_worker_s_own_clock(trial):
    status, out = trial.run("--bench", "First")
    assert status == 0, out
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
    steps = sorted(s for sample in worker["samples"] for s in sample["step_s"])
    assert steps[0] <= stored <= steps[-1]
    assert [len(sample["step_s"]) for sample in worker["samples"]] == [3, 3, 3]
    assert worker["trained"]["steps_asked"] == worker["trained"]["steps_done"]
    assert all(check["ok"] for check in worker["in_force"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "--bench", "Nonesuch"], "no suite matches 'Nonesuch'; there are First"),
        (["run", "--rounds", "0"], "'0' is not a whole number"),
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
    assert "broke off in the middle; it is as before the last suite again" in out
    found = rows(trial)
    assert found["First", "1"]["step_s"] == before
    assert found["Second", "2"]["status"] == "ok"
