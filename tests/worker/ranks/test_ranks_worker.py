"""Real cells of two processes under torchrun: what they record, and what makes them fail."""

import json
import os
import sys
import time
from pathlib import Path

import pytest
from settled import settled

pytest.importorskip("torch")

from roots import take_root

from cputrain import engines, environ
from cputrain.data import feed
from cputrain.machine import processes
from cputrain.model import initial
from cputrain.model.memory_estimate import memory_bytes
from cputrain.record.cell import CellKey
from cputrain.record.requests import WorkerRequest
from cputrain.run import fresh, launch, placement
from cputrain.run.cell import CellRun
from cputrain.run.failed import CellFailed
from cputrain.worker.ranks import torchrun

SHAPE = {"n_layer": 2, "n_embd": 64, "seq_len": 64, "batch_size": 2, "grad_accum": 2}
SMALL = settled(**SHAPE, processes=2, steps=4, samples=1, tries=1, warm_up_steps=2)
pytestmark = pytest.mark.skipif(
    (reason := placement.why_not(SMALL)) is not None, reason=str(reason)
)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """The record of a whole cell, and the folder that its data is in."""
    root = tmp_path_factory.mktemp("root")
    with pytest.MonkeyPatch.context() as patch:
        take_root(patch, root)
        for name, value in (("SESSION", "s"), ("MACHINE", "here"), ("OFFLINE", "1")):
            patch.setenv(f"CPUTRAIN_{name}", value)
        cell = CellRun(CellKey("Trial", ("x",)), SMALL)
        cell.sample()
        cell.settle()
        return json.loads((cell.folder / "run.json").read_text())["workers"][-1], root


def test_a_cell_of_two_processes_does_the_work_of_one(honest):
    record, root = honest
    assert record["status"] == "ok"
    data = feed.open_feed(SMALL, root / "data", offline=True)
    alone = SMALL.but(engine="numpy", processes=None, attention_backend="manual")
    reference = engines.build(alone, initial.initial_weights(alone))
    assert record["first_loss"] == pytest.approx(reference.loss(data.first), rel=1e-4)
    done = record["trained"]["steps_done"]
    expected = [reference.train_step(data.next(), data.next()) for _ in range(done)]
    (sample,) = record["samples"]
    assert sample["loss"] == pytest.approx(expected[-4:], rel=1e-3)
    assert record["last_loss"] == pytest.approx(reference.loss(data.first), rel=1e-3)
    assert record["counts"]["tokens_per_step"] == 2 * 2 * 64


def test_every_rank_s_settings_are_in_force_and_recorded(honest):
    record, _ = honest
    checks = {check["name"]: check for check in record["in_force"]}
    assert all(check["ok"] for check in record["in_force"])
    assert checks["processes that train together"]["found"] == 2
    assert checks["weights of all processes"]["found"] == "equal"
    masks = [list(cpus) for cpus in record["placement"]["ranks"]]
    assert checks["affinity mask at launch"]["found"] == masks[0]
    assert checks["rank 1: affinity mask at launch"]["found"] == masks[1]
    assert not set(masks[0]) & set(masks[1])
    assert checks["rank 1: torch.get_num_threads()"]["found"] == record["placement"]["omp_threads"]


def test_what_each_rank_sent_and_held_is_recorded(honest):
    record, _ = honest
    (sample,) = record["samples"]
    exchange = sample["exchange"]
    assert exchange["payload_bytes"] == 4 * record["counts"]["n_trained"]
    assert exchange["ring_bytes"] == exchange["payload_bytes"]  # 2 (N - 1) / N for two
    assert exchange["sent_bytes_per_step"] == pytest.approx([exchange["ring_bytes"]] * 2, rel=0.02)
    assert len(sample["ranks"]) == 2
    assert all(rank["busy"]["ok"] for rank in sample["ranks"])
    assert all(rank["noise"]["communication_cpu_s"] > 0 for rank in sample["ranks"])
    assert sample["ranks"][0]["losses"] != sample["ranks"][1]["losses"]
    each = record["peak_rss_bytes_by_rank"]
    assert record["peak_rss_bytes"] == sum(each) and min(each) > 100e6
    held = record["peak_rss_bytes"] + record["torchrun_peak_rss_bytes"]
    assert 0.8 * held < memory_bytes(SMALL).total < 1.6 * held


def started(tmp_path, command=(), experiment=SMALL):
    request = WorkerRequest(folder=str(tmp_path), offline=True, model_cap_bytes=0)
    return launch.Worker(experiment, request, command=command)


def marked(worker):
    """All processes of a worker."""
    return processes.marked(*worker.family.mark.split("=", 1))


def fails(worker):
    """Why it fails; nothing of it may be left."""
    with pytest.raises(CellFailed) as caught:
        worker.ready()
        worker.sample()
    assert marked(worker) == []
    return caught.value.reason


def test_a_rank_without_its_own_mask_is_found(own_root, tmp_path, monkeypatch):
    honestly = fresh.environment

    def lying(experiment, placed):
        first = ",".join(map(str, placed.ranks[0]))
        return honestly(experiment, placed) | {environ.RANK_CPUS: f"{first};{first}"}

    monkeypatch.setattr(fresh, "environment", lying)
    reason = fails(started(tmp_path))
    assert reason.startswith("rank 1: NotInForce: affinity mask at launch: asked for")


def test_another_number_of_processes_than_asked_is_found(own_root, tmp_path, monkeypatch):
    honestly = torchrun.words
    monkeypatch.setattr(torchrun, "words", lambda _, program: honestly(1, program))
    reason = fails(started(tmp_path))
    assert "processes that train together: asked for 2, found 1" in reason


# What DDP's place is taken by is in ranks_program.py.
WITHOUT_DDP = """
import sys
from cputrain.machine import parent
from cputrain.worker.ranks import torchrun
parent.die_with_parent()
torchrun.take_place()
sys.path.append({folder!r})
from cputrain.worker import serving
from cputrain.worker.ranks import process
from ranks_program import Plain
from cputrain.engines.torch_ import parallel
parallel.DistributedDataParallel = Plain
serving.leave(process.main)
"""


def test_a_cell_whose_gradients_are_not_averaged_fails(own_root, tmp_path):
    code = WITHOUT_DDP.format(folder=str(Path(__file__).parent))
    reason = fails(started(tmp_path, (sys.executable, "-P", "-c", code)))
    assert "NotInForce: gradients of a step from the mean over all processes" in reason


def ranks_of(worker):
    """Process by rank."""
    pids = {}
    for pid in marked(worker):
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        env = dict(word.split(b"=", 1) for word in words if b"=" in word)
        if b"RANK" in env:
            pids[int(env[b"RANK"])] = pid
    return pids


def test_a_killed_rank_ends_the_cell_in_seconds_and_is_named(own_root, tmp_path):
    worker = started(tmp_path, experiment=SMALL.but(steps=100_000))
    worker.ready()
    pids = ranks_of(worker)
    assert sorted(pids) == [0, 1]
    os.kill(pids[1], 9)
    start = time.monotonic()
    with pytest.raises(CellFailed, match="rank 1 killed by SIGKILL while") as caught:
        worker.sample()
    assert caught.value.status == "failed"
    assert time.monotonic() - start < 60  # and not until its deadline
    assert marked(worker) == []
