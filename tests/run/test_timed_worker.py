"""Real workers that train for some time, every step on the clock: what their records say."""

import pytest
from settled import settled

from cputrain.record import files
from cputrain.record.projection import SCHEMA, ProjectionRecord
from cputrain.run import recording, timed_worker
from cputrain.run.session import Session
from cputrain.run.timed_worker import TimedRequest

pytest.importorskip("torch")
SMALL = {"n_layer": 1, "n_embd": 32, "n_head": 2, "seq_len": 32, "learning_rate": 0.003}
SMALL |= {"threads": 1}


def run(root, experiment):
    Session.from_env().enter()
    request = TimedRequest(experiment=experiment.to_json(), seconds=1.0, steps=10_000, done=3_500)
    timed_worker.run(request)
    folder = root / "output" / "here"
    path = timed_worker.path_of(folder, Session.from_env().id)
    return files.read(path, ProjectionRecord, SCHEMA)


def test_every_step_of_the_time_is_on_record_and_the_model_trained(own_root, monkeypatch):
    monkeypatch.setattr(timed_worker, "SAMPLE_S", 0.01)
    record = run(own_root, settled(**SMALL))
    worker = record.worker
    assert (worker.status, worker.reason) == ("ok", None)
    assert (record.steps, record.done) == (10_000, 3_500)
    assert len(worker.samples) >= 2
    timed = sum(len(sample.step_s) for sample in worker.samples)
    # The first step and the warm-up; between samples none is lost, and none is taken twice.
    assert worker.steps_done == 1 + worker.warm_up_steps + timed
    assert {sample.tries for sample in worker.samples} == {1}
    assert worker.last_loss < worker.first_loss
    assert all(check.ok for check in worker.in_force)

    # No model is kept, and no suite has it.
    assert not list(own_root.rglob("*.safetensors"))
    assert not list(own_root.rglob(recording.FILE))


def test_what_cannot_run_here_is_a_record_with_the_reason(own_root):
    record = run(own_root, settled(**SMALL, cores=4096))
    assert record.worker.status == "skipped"
    assert "4096" in record.worker.reason
