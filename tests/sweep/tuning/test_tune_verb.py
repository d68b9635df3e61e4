"""The verb `tune`: the real program and its workers, on a tiny model with a budget of seconds."""

import signal

import pytest

from cputrain.record import files, tuning
from cputrain.record.tuning import TuningRecord

pytestmark = pytest.mark.tools

TINY = ("--n-layer", "1", "--n-embd", "32", "--n-head", "2", "--seq-len", "32")
FEW = (
    "--keep",
    "engine,compile,matmul_backend,allocator,huge_pages,pinning,omp_runtime,threads,wait_policy,"
    "loader_workers,loss_chunk",
)
"""Leaves what torch can change without a compiler or a library of others."""


def read(trial):
    (path,) = trial.output.glob(f"{tuning.FOLDER}/*/{tuning.FILE}")
    return files.read(path, TuningRecord, tuning.SCHEMA)


def test_a_tuning_races_tests_and_says_what_it_recommends(trial):
    process = trial.start("tune", "--offline", *TINY, *FEW, "--budget", "2", "--order", "3")
    out, _ = process.communicate(timeout=280)
    assert process.returncode == 0, out
    record = read(trial)
    assert (record.status, record.seed, record.budget_s) == ("ok", 3, 120.0)
    assert record.took_s < 240
    raced = [raced for race in record.races for raced in race.candidates if raced.log_ratios]
    assert raced
    assert {race.knob for race in record.races} <= {
        *("attention", "optimizer kernel", "micro-batch", "those that looked faster, together"),
    }
    proven = [each for each in record.passes if each.status == "ok"]
    assert bool(proven) == (record.tuned is not None)
    assert ("settings: " in out) == bool(list(trial.output.rglob(tuning.SETTINGS)))
    assert "took " in out and "Traceback" not in out
    assert not trial.processes()


def test_a_tuning_that_is_stopped_keeps_its_races_and_recommends_nothing(trial):
    process = trial.start("tune", "--offline", *TINY, *FEW, "--budget", "5")
    trial.wait_for(f"output/*/{tuning.FOLDER}/*/{tuning.FILE}", process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the races so far are in " in out and "nothing is recommended" in out
    assert "Traceback" not in out
    assert read(trial).status == "unproven"
    trial.wait_for_the_end()
