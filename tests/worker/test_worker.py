"""Real workers on small models: what they leave, and what makes them refuse to."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import lease_here
import pytest
from settled import settled

torch = pytest.importorskip("torch")

from safetensors.numpy import load_file  # noqa: E402

from cputrain import engines  # noqa: E402
from cputrain.data import feed  # noqa: E402
from cputrain.model import initial, shapes  # noqa: E402
from cputrain.record import answers  # noqa: E402
from cputrain.record.cell import CellKey  # noqa: E402
from cputrain.run import fresh  # noqa: E402
from cputrain.run.cell import CellRun  # noqa: E402
from cputrain.run.failed import CellFailed  # noqa: E402

SMALL = settled(n_layer=2, n_embd=64, seq_len=64, steps=4, samples=2, tries=1, warm_up_steps=4)
NUMPY = {"engine": "numpy", "attention_backend": "manual"}


def run(experiment, samples=None):
    """All samples of a cell; the last worker's record and the cell."""
    cell = CellRun(CellKey("Trial", ("x",)), experiment)
    try:
        for _ in range(samples or experiment.budget.samples):
            cell.sample()
            cell.settle()
    finally:
        cell.beside.end()  # a test that fails keeps the cell, and others would wait for the lease
    return json.loads((cell.folder / "run.json").read_text())["workers"][-1], cell


@pytest.mark.parametrize("engine", ["torch", "numpy"])
def test_a_worker_trains_the_asked_steps_and_proves_it(leased, engine):
    record, cell = run(SMALL.but(engine=engine, attention_backend="manual"))
    assert record["status"] == "ok" and record["reason"] is None
    assert [len(sample["step_s"]) for sample in record["samples"]] == [4, 4]
    assert all(s > 0 for sample in record["samples"] for s in sample["step_s"])
    steps = 1 + record["warm_up_steps"] + 2 * 4
    assert record["trained"]["steps_asked"] == record["trained"]["steps_done"] == steps
    assert record["trained"]["parameters_moved"] == len(shapes.weight_shapes(SMALL))
    assert record["last_loss"] < record["first_loss"]
    assert all(check["ok"] for check in record["in_force"])
    assert record["identity"] == cell.experiment.identity
    assert cell.clock_s == pytest.approx(
        sum(sorted(s["step_s"])[1] + sorted(s["step_s"])[2] for s in record["samples"]) / 2
    )


def test_the_saved_model_loads_back_into_the_engine(leased):
    record, cell = run(SMALL.but(samples=3))  # slow steps end a warm-up after two of them
    weights = load_file(cell.folder / record["model_file"])
    engine = engines.build(SMALL, weights)
    batch = feed.open_feed(SMALL, leased / "data", offline=True).first
    assert engine.loss(batch) < record["first_loss"] - 0.5


def test_the_first_loss_is_that_of_the_initial_weights(leased):
    """Warm-up and checks neither train twice nor skip a batch."""
    record, _ = run(SMALL, samples=1)
    same = feed.open_feed(SMALL, leased / "data", offline=True)
    engine = engines.build(SMALL, initial.initial_weights(SMALL))
    losses = [engine.train_step(same.next()) for _ in range(30)]
    kept = record["samples"][0]["loss"]
    start = 1 + record["warm_up_steps"]
    assert record["first_loss"] == pytest.approx(losses[0], rel=1e-4)
    assert kept == pytest.approx(losses[start : start + 4], rel=1e-2)


def test_a_thread_count_not_in_force_is_a_failed_cell(own_root, here, monkeypatch):
    honest = fresh.environment

    def lying(experiment, placement):
        return honest(experiment, placement) | {"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "3"}

    lease_here.lie(monkeypatch, lying)
    with pytest.raises(CellFailed, match=r"get_num_threads\(\): asked for 1, found"):
        run(SMALL.but(threads=1))
    record = json.loads((own_root / "output/here/Trial/x/run.json").read_text())["workers"][-1]
    assert record["status"] == "failed" and "asked for 1" in record["reason"]


def test_a_model_that_does_not_learn_is_a_failed_cell(leased):
    with pytest.raises(CellFailed, match="DidNotTrain"):
        run(SMALL.but(learning_rate=0.0))


def test_a_diverging_model_is_a_failed_cell(leased):
    with pytest.raises(CellFailed, match="DidNotTrain"):
        run(SMALL.but(learning_rate=10.0))


def test_a_compiler_that_fails_is_a_failed_cell_and_no_eager_number(own_root, monkeypatch):
    folder = own_root / "bin"
    folder.mkdir()
    for name in ("g++", "clang++", "c++", "gcc", "cc"):
        broken = folder / name
        broken.write_text("#!/bin/sh\necho 'broken compiler' >&2\nexit 1\n")
        broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{shutil.os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(own_root))
    with pytest.raises(CellFailed) as caught:
        run(SMALL.but(compile="inductor"))
    assert caught.value.status == "failed" and "inductor" in caught.value.reason


def test_a_model_over_the_cap_is_not_kept_and_the_record_says_so(leased, monkeypatch):
    monkeypatch.setenv("CPUTRAIN_MODEL_CAP", "1000")
    record, cell = run(SMALL)
    assert record["model_file"] is None and "over the cap" in record["note"]
    assert not (cell.folder / "model.safetensors").exists()


def test_a_broken_record_is_put_aside_and_not_lost(leased):
    path = leased / "output/here/Trial/x/run.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"schema": 1, "workers": [{"id"')
    record, _ = run(SMALL, samples=1)
    assert record["status"] == "unproven"
    assert path.with_name("run.json.broken").read_text().endswith('{"id"')


def test_corrupt_data_is_a_failed_cell_with_the_file_s_name(own_root):
    (own_root / "data").mkdir()
    (own_root / "data" / "corpus.json").write_text("[]")
    with pytest.raises(CellFailed, match=r"corpus.json is damaged"):
        run(SMALL.but(**NUMPY))


def test_peak_memory_is_the_worker_s_and_not_its_launcher_s(own_root):
    """ru_maxrss would say that the worker held what we hold when we fork it."""
    ours = bytearray(1_500_000_000)
    ours[::4096] = b"x" * len(ours[::4096])
    record, _ = run(SMALL, samples=1)
    assert 100e6 < record["peak_rss_bytes"] < 1.2e9


def test_a_disturbed_sample_is_repeated_then_kept_and_flagged(leased, rival):
    record, _ = run(SMALL.but(cores=1, steps=20, tries=2), samples=1)
    (sample,) = record["samples"]
    assert sample["disturbed"] and sample["tries"] == 2
    assert sample["noise"]["run_queue_share"] > 0.05
    assert len(sample["step_s"]) == len(sample["held_up_s"]) == 20
    lost_s = sample["noise"]["lost_share"] * sample["noise"]["wall_s"]
    assert 0 < sum(sample["held_up_s"]) <= lost_s * (1 + 1e-9)  # often all of it


@pytest.mark.parametrize(
    "changes",
    [{"threads": 1 + len(os.sched_getaffinity(0))}, {"micro_batches": 1, "grad_accum": 2}],
)
def test_what_holds_up_threads_that_wait_for_one_another_or_parts_of_a_step_is_not_told(
    leased, changes
):
    record, _ = run(SMALL.but(**changes), samples=1)
    assert record["samples"][0]["held_up_s"] == []


def test_a_worker_has_its_memory_as_after_a_checkpoint(leased):
    """glibc would fault in a thousand pages a step and more, and a proven reference's none."""
    record, _ = run(settled(steps=10, samples=3, tries=1), samples=3)
    assert min(sample["noise"]["minor_faults"] for sample in record["samples"]) < 1000


def test_a_block_says_where_its_cpus_were_before_and_after_it(leased):
    record, _ = run(SMALL, samples=2)
    cpus = record["placement"]["cpus"]
    is_guest = re.search(r"^flags.*\bhypervisor\b", Path("/proc/cpuinfo").read_text(), re.M)
    for sample in record["samples"]:
        noise = sample["noise"]
        if not is_guest:
            assert noise["reasons"]["round_trip_after_ns"]
        elif len(cpus) > 1:
            assert noise["round_trip_cpus"] == [cpus[0], cpus[-1]]
            named = {"round_trip_before_ns": 5, "round_trip_after_ns": 5}
            for name, least in (named | {"at_once_before": 0.5, "at_once_after": 0.5}).items():
                # Tests beside this one may keep a CPU for longer than the threads look.
                is_busy = "something else had CPU" in noise["reasons"].get(name, "")
                assert is_busy or noise[name] > least
        else:
            assert noise["reasons"]["round_trip_after_ns"] == "the mask has one CPU"
            assert noise["reasons"]["at_once_after"] == "the mask has one CPU"


@pytest.mark.parametrize(
    "line, named",
    [
        ("{}", "folder"),
        ('{"experiment": {}, "sessions": 3}', "sessions"),
        ("no JSON", "malformed"),
    ],
)
def test_a_worker_answers_a_broken_request_with_what_is_wrong(line, named):
    reading, writing = os.pipe()
    worker = subprocess.run(
        [sys.executable, "-m", "cputrain.worker.job", str(writing)],
        input=f"{line}\n".encode(),
        pass_fds=(writing,),
        capture_output=True,
    )
    os.close(writing)
    with os.fdopen(reading, "rb") as answers_of_worker:
        failed = answers.decode(answers_of_worker.read())
    assert worker.returncode == 1
    assert isinstance(failed, answers.Failed) and named in failed.reason
