"""A sweep that was stopped, or killed, or ran out of time, and the next one."""

import json
import os
import re
import signal

import pytest
from sweep_processes import killed_in_its_second_suite, rows

from cputrain.machine import identity
from cputrain.wording import counted

pytestmark = pytest.mark.tools


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
        return small(base, seed=value, steps=1000)
"""


def test_a_suite_that_is_longer_than_a_run_gets_further_with_each(trial):
    path = trial.suites / "trial.py"
    path.write_text(path.read_text() + LONGER)
    done = []
    for _ in range(2):
        status, out = trial.run("--bench", "Longer", "--budget", "0.25")
        assert status == 0 and "the rest of Longer" in out, out
        done.append(len(list(trial.output.glob("Longer/*/run.json"))))
    assert f"going on where the last run stopped: {counted(done[0], 'cell')} done" in out
    assert 0 < done[0] < done[1]


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


def test_a_sweep_that_has_all_its_passes_is_finished_but_for_one_that_may_take_more(trial):
    path = trial.suites / "trial.py"
    path.write_text(path.read_text() + COMPARED)
    for measured in (1, 2):
        status, out = trial.run("--bench", "Compared")
        assert status == 0 and "going on" not in out, out
        workers = trial.record("Compared/2")["workers"]
        assert len({worker["session"] for worker in workers}) == len(workers) == measured
    process = trial.start("run", "--offline", "--passes", "2", "--bench", "Compared")
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and "going on where the last run stopped: pass 2" in out


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
    assert out.count("pass 2: ") == 1 and f"pass 2: {len(chosen)} cells once more" in out
    (results,) = (trial.folder / "result" / "asv").glob("*/*-*.json")
    kept = json.loads(results.read_text())
    stored = kept["results"]["trial.Compared.time_train_steps"]
    samples = dict(zip("123", stored[kept["result_columns"].index("samples")], strict=True))
    for cell in chosen:
        workers = trial.record(f"Compared/{cell}")["workers"]
        first, second = (worker for worker in workers if worker["status"] == "ok")
        assert len(second["samples"]) == pairs
        assert len(samples[cell]) == len(first["samples"]) + pairs
