"""Processes of a sweep that end without a word: a cell's, asv, the conductor."""

import os
import re
import signal
import time

import pytest
from sweep_processes import cells_of_asv, has_words, rows, workers_of_a_parent

pytestmark = pytest.mark.tools


LONG = '''

class Long(suite.Suite):
    """One cell that is killed."""

    values = (1,)
    name = "seed"

    def vary(self, base, value):
        return base.but(seed=value, steps=100_000, n_layer=1, n_embd=64, seq_len=32)
'''


def assert_all_of_one_session(trial, cells):
    """Each of so many cells has its number, and no other session has measured one."""
    by_cell = rows(trial)
    assert len(by_cell) == cells and {row["status"] for row in by_cell.values()} == {"ok"}
    workers = [w for suite, value in by_cell for w in trial.record(f"{suite}/{value}")["workers"]]
    assert len({worker["session"] for worker in workers}) == 1


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
    assert_all_of_one_session(trial, 4)


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
    assert process.returncode == 0 and out.count("pass 2: 1 cell once more") == 1, out
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
    assert_all_of_one_session(trial, 4)


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
