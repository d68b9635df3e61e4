"""Real workers whose steps are watched: what their records say."""

import pytest
from settled import settled

from cputrain.machine import compilers
from cputrain.model.flops import flops_per_step
from cputrain.model.parts import NAMES
from cputrain.record import files
from cputrain.record.parts import SCHEMA, PartsRecord
from cputrain.run import watched_worker
from cputrain.run.watched_worker import WatchRequest

SMALL = {"n_layer": 2, "n_embd": 256, "seq_len": 128, "warm_up_steps": 8, "tries": 1, "threads": 1}


def run(root, engine, **changes):
    experiment = settled(engine=engine, **{**SMALL, **changes})
    request = WatchRequest(shape="Trial", engine=engine, experiment=experiment.to_json())
    watched_worker.run(request)
    path = root / "output" / "here" / "parts" / f"Trial-{engine}" / "parts.json"
    return files.read(path, PartsRecord, SCHEMA), experiment


@pytest.mark.parametrize("engine", ["torch", "jax", "native"])
def test_a_record_has_plain_and_watched_steps_of_a_worker_that_trained(own_root, engine):
    if engine in ("torch", "jax"):
        pytest.importorskip(engine)
    if engine == "native" and not compilers.is_here("gcc"):
        pytest.skip("gcc is not installed")
    record, experiment = run(own_root, engine)
    worker, watched = record.worker, record.watched
    assert (worker.status, worker.reason) == ("ok", None)
    plain = worker.samples[0].step_s
    assert len(plain) == len(watched.step_s) == len(worker.samples[0].loss)
    # The first step, the warm-up, one watched to begin with, both kinds in turns.
    assert worker.steps_done == 1 + worker.warm_up_steps + 1 + 2 * len(plain)
    assert worker.last_loss < worker.first_loss
    assert all(check.ok for check in worker.in_force)
    assert tuple(watched.parts) == NAMES
    assert sum(p.flops for p in watched.parts.values()) == flops_per_step(experiment).total
    each = zip(*(part.seconds for part in watched.parts.values()), strict=True)
    shares = [sum(parts) / wall_s for parts, wall_s in zip(each, watched.step_s, strict=True)]
    if engine == "torch":  # whose profiler's own cost is known, and in no part
        # Of a step of 4 ms it can be more than half where somebody else had the CPU meanwhile.
        assert 0.5 < max(shares) <= 1 + 1e-9  # a sum
    else:
        assert shares == pytest.approx([1] * len(shares), rel=1e-3)
    assert (watched.dispatch_s is None) is (watched.no_dispatch is not None) is (engine == "jax")


def test_who_cannot_tell_is_a_failure_with_a_reason(own_root):
    record, _ = run(own_root, "numpy")
    assert record.worker.status == "failed" and record.watched is None
    assert "the numpy engine has no counters" in record.worker.reason
