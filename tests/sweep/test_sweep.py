import json
import os
import re
import signal
import time
from pathlib import Path

import psutil
import pytest

from cputrain.machine import identity, lock
from cputrain.record.worker import step_s
from cputrain.results import records
from cputrain.wording import counted

pytestmark = pytest.mark.tools

polars = pytest.importorskip("polars")


def rows(trial):
    table = polars.read_parquet(trial.folder / "result" / "results.parquet")
    return {(row["suite"], row["value"]): row for row in table.iter_rows(named=True)}


def killed_in_its_second_suite(trial):
    """A sweep of First and Second that is ended by SIGKILL, with all that it had started."""
    process = trial.start("run", "--offline", "--passes", "1", "--bench", "First|Second")
    trial.wait_for("output/*/Second/1/run.json", process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    trial.wait_for_the_end()


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


def test_a_killed_sweep_leaves_nothing_running_and_goes_on(trial):
    killed_in_its_second_suite(trial)
    before = trial.record("First/1")

    status, out = trial.run("--bench", "First|Second")
    assert status == 0, out
    assert re.search(r"going on where the last run stopped: [23] cells done", out)
    after = trial.record("First/1")
    for record in (before, after):
        record["workers"][0].pop("run")  # of the asv call
    assert after == before
    by_cell = rows(trial)
    assert {suite for suite, _ in by_cell} == {"First", "Second"}
    for row in by_cell.values():
        assert row["status"] == "ok" and row["step_s"], row
    sessions = {w["session"] for c in ("First/1", "Second/2") for w in trial.record(c)["workers"]}
    assert len(sessions) == 1

    status, out = trial.run("--bench", "First", "--fresh")
    assert status == 0 and "going on" not in out
    assert len(trial.record("First/1")["workers"]) == 2


def test_a_killed_sweep_of_another_machine_is_measured_anew(trial):
    """A clone that another machine mounts, or a machine that has another name since."""
    killed_in_its_second_suite(trial)
    registry = trial.folder / ".asv-machine.json"
    known = json.loads(registry.read_text())
    (before,) = (path.name for path in (trial.folder / "output").iterdir())
    name = identity.plain_name()
    known[name] = {**known.pop(before), "machine": name}
    registry.write_text(json.dumps(known))

    status, out = trial.run("--bench", "First|Second")
    assert status == 0, out
    assert "going on" not in out
    assert f"was of machine {before}, this one is of {name}: all is measured anew" in out
    for cell in ("First/1", "First/2", "Second/1", "Second/2"):
        record = json.loads((trial.folder / "output" / name / cell / "run.json").read_text())
        assert [worker["machine"] for worker in record["workers"]] == [name]


def test_another_choice_of_suites_leaves_a_stopped_sweep_to_be_gone_on_with(trial):
    killed_in_its_second_suite(trial)

    status, out = trial.run("--bench", "First")
    assert status == 0 and "going on" not in out, out

    status, out = trial.run("--bench", "First|Second")
    assert status == 0 and "going on where the last run stopped" in out, out
    by_cell = {cell: trial.record(cell)["workers"] for cell in ("First/1", "First/2", "Second/1")}
    assert len({workers[-1]["session"] for workers in by_cell.values()}) == 1
    # What the run between has measured is of another session, and does not stand for this one's.
    assert [len(workers) for workers in by_cell.values()] == [3, 3, 1]


LONGER = """

class Longer(suite.Suite):
    '''Cells that take longer than their FLOPs say.'''

    values = tuple(range(12))
    name = "seed"

    def vary(self, base, value):
        return small(base, seed=value, steps=2000)
"""


def test_a_suite_that_is_longer_than_a_run_gets_further_with_each(trial):
    path = trial.suites / "trial.py"
    path.write_text(path.read_text() + LONGER)
    done = []
    for _ in range(2):
        status, out = trial.run("--bench", "Longer", "--budget", "0.3")
        assert status == 0 and "the rest of Longer" in out, out
        done.append(len(list(trial.output.glob("Longer/*/run.json"))))
    assert f"going on where the last run stopped: {counted(done[0], 'cell')} done" in out
    assert 0 < done[0] < done[1]


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
    assert {*steps} == {3} and 2 <= len(steps) <= 4
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


LONG = '''

class Long(suite.Suite):
    """One cell that is killed."""

    values = (1,)
    name = "seed"

    def vary(self, base, value):
        return base.but(seed=value, steps=100_000, n_layer=1, n_embd=64, seq_len=32)
'''


def test_a_benchmark_process_that_is_killed_is_a_failed_cell(trial):
    """asv's own process of the cell, which can then neither write a record nor say anything."""
    path = trial.suites / "trial.py"
    path.write_text(path.read_text() + LONG)
    process = trial.start("run", "--offline", "--passes", "1", "--bench", "Long")
    end = time.monotonic() + 120
    while not (cells := cells_of_asv(trial)) or workers_of_a_parent(trial) < 1:
        assert process.poll() is None and time.monotonic() < end, process.stdout.read()
        time.sleep(0.05)
    (cell,) = cells
    os.kill(cell, signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    assert "1  failed: its process ended before its training was proven" in out


MANY = """
    @classmethod
    def base(cls):
        return super().base().but(samples=40)
"""


def test_one_that_is_killed_after_its_first_sample_is_one_too(trial):
    path = trial.suites / "trial.py"
    path.write_text(path.read_text() + LONG.replace("steps=100_000, ", "") + MANY)
    process = trial.start("run", "--offline", "--passes", "1", "--bench", "Long")
    trial.wait_for("output/*/Long/1/run.json", process)
    (cell,) = cells_of_asv(trial)
    os.kill(cell, signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    row = rows(trial)["Long", "1"]
    assert row["status"] == "failed", row
    assert row["reason"].startswith("its process ended before its training was proven")
    statuses = [worker["status"] for worker in trial.record("Long/1")["workers"]]
    assert statuses == ["unproven", "failed"]


def test_asv_that_is_killed_is_a_line_and_the_next_run_goes_on(trial):
    words = ("--bench", "First|Second")
    process = trial.start("run", "--offline", "--passes", "1", *words)
    trial.wait_for("output/*/First/2/run.json", process)
    (asv,) = (pid for pid in trial.processes() if has_words(pid, b"-m\0asv\0--config\0"))
    os.kill(asv, signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    assert re.search(r"asv was killed by SIGKILL in \w.*; the same command goes on from there", out)
    trial.wait_for_the_end()

    status, out = trial.run(*words)
    assert status == 0 and "going on where the last run stopped: " in out, out
    by_cell = rows(trial)
    assert len(by_cell) == 4 and {row["status"] for row in by_cell.values()} == {"ok"}
    cells = [trial.record(f"{suite}/{value}")["workers"] for suite, value in by_cell]
    assert len({worker["session"] for workers in cells for worker in workers}) == 1


ONCE = """

class Once(suite.Suite):
    '''A cell whose process ends in its first pass.'''

    values = (1,)
    name = "seed"

    def vary(self, base, value):
        return small(base, seed=value)

    def setup(self, value):
        if os.environ["CPUTRAIN_PASS"] == "1":
            os.kill(os.getpid(), 9)
        super().setup(value)
"""


def test_a_cell_that_failed_by_chance_has_its_number_from_the_next_pass(trial):
    path = trial.suites / "trial.py"
    path.write_text("import os\n" + path.read_text() + ONCE)
    process = trial.start("run", "--offline", "--bench", "Once")
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1 and out.count("pass 2: 1 cell not told so far") == 1, out
    row = rows(trial)["Once", "1"]
    assert row["status"] == "ok" and row["step_s"] > 0
    assert row["reason"].startswith("1 of 2 passes gave no number: failed: its process ended")


def test_a_conductor_that_dies_ends_the_call_and_the_next_run_measures_its_cells(trial):
    words = ("--bench", "First|Second")
    process = trial.start("run", "--offline", "--passes", "1", *words)
    trial.wait_for("output/*/First/1/run.json", process)
    (conductor,) = (p for p in trial.processes() if has_words(p, b"-m\0cputrain.run.conductor\0"))
    os.kill(conductor, signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    *_, line = out.splitlines()
    assert "the conductor, which owns the workers, died" in line
    assert line.endswith("; the same command goes on from there")
    trial.wait_for_the_end()

    status, out = trial.run(*words)
    assert status == 0, out
    by_cell = rows(trial)
    assert len(by_cell) == 4 and {row["status"] for row in by_cell.values()} == {"ok"}
    cells = [trial.record(f"{suite}/{value}")["workers"] for suite, value in by_cell]
    assert len({worker["session"] for workers in cells for worker in workers}) == 1


def cells_of_asv(trial):
    """asv's own processes of cells, which its server has forked."""
    asv = [pid for pid in trial.processes() if has_words(pid, b"benchmark.py\0run_server\0")]
    return [pid for pid in asv if psutil.Process(pid).ppid() in asv]


def workers_of_a_parent(trial):
    """How many workers there are that a parent has forked."""
    return sum(has_words(pid, b"cputrain.worker.parent") for pid in trial.processes()) - 1


def has_words(pid, *words):
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return all(word in command for word in words)


SILENT = '''
"""Cells that end without a word."""

import os
import signal

from cputrain.run import suite


class Silent(suite.Suite):
    """Ways to end."""

    values = ("killed", "raises")
    name = "way"

    def vary(self, base, value):
        return base.but(n_layer=1, n_embd=64, seq_len=32)

    def setup(self, value):
        if value == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError("nan is not JSON")
'''


def test_a_cell_that_ends_without_a_word_has_failed_and_counts_again_later(trial):
    (trial.suites / "silent.py").write_text(SILENT)
    status, out = trial.run("--bench", "Silent")
    assert status == 1, out
    for value in ("killed", "raises"):
        assert rows(trial)["Silent", value]["status"] == "failed"
        assert re.search(rf" {value}  failed: .* before its training was proven; see /", out)


def test_stopped_in_the_closing_measurement_it_measures_no_cell_again(trial):
    trial.env["CPUTRAIN_MEASURE_S"] = "5"
    process = trial.start("run", "--offline", "--passes", "1", "--bench", "First")
    measuring = 0
    while measuring < 2:
        line = process.stdout.readline()
        assert line, "it ended before"
        measuring += "measuring matrix products" in line
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM and "Traceback" not in out
    trial.env["CPUTRAIN_MEASURE_S"] = "0"
    status, out = trial.run("--bench", "First")
    assert status == 0, out
    assert "going on where the last run stopped: pass 2, 0 cells done" in out
    assert len(trial.record("First/1")["workers"]) == 1
    assert rows(trial)["First", "1"]["status"] == "ok"


COMPARED = """

class Compared(suite.Suite):
    '''Seeds beside a baseline, which a few pairs do not tell apart.'''

    values = (1, 2, 3)
    name = "seed"

    @classmethod
    def base(cls):
        return small(super().base(), seed=1)

    def vary(self, base, value):
        return base.but(seed=value)
"""


def test_a_sweep_that_has_all_its_passes_is_finished_and_the_next_one_measures_anew(trial):
    path = trial.suites / "trial.py"
    path.write_text(path.read_text() + COMPARED)
    for measured in (1, 2):
        status, out = trial.run("--bench", "Compared")
        assert status == 0 and "going on" not in out, out
        workers = trial.record("Compared/2")["workers"]
        assert len({worker["session"] for worker in workers}) == len(workers) == measured


def test_a_pass_that_is_killed_is_gone_on_with_as_it_was_planned(trial):
    path = trial.suites / "trial.py"
    path.write_text(path.read_text() + COMPARED)
    words = ("run", "--offline", "--passes", "2", "--bench", "Compared")
    process = trial.start(*words)
    trial.wait_for(".asv/measured-*-2.jsonl", process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    trial.wait_for_the_end()
    (state,) = (trial.folder / ".asv").glob("sweep-full-*.json")
    kept = json.loads(state.read_text())
    chosen, pairs = kept["chosen"]["cells"]["Compared"], kept["chosen"]["pairs"]["numpy"]
    assert kept["number"] == 2 and len(chosen) > 1

    process = trial.start(*words)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    assert re.search(r"going on where the last run stopped: pass 2, \d cells? done", out)
    assert out.count("pass 2: ") == 1 and f"pass 2: {len(chosen)} cells not told so far" in out
    (results,) = (trial.folder / "result" / "asv").glob("*/*-*.json")
    kept = json.loads(results.read_text())
    stored = kept["results"]["trial.Compared.time_train_steps"]
    samples = dict(zip("123", stored[kept["result_columns"].index("samples")], strict=True))
    for cell in chosen:
        workers = trial.record(f"Compared/{cell}")["workers"]
        first, second = (worker for worker in workers if worker["status"] == "ok")
        assert len(second["samples"]) == pairs
        assert len(samples[cell]) == len(first["samples"]) + pairs


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
