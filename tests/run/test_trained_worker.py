"""Real runs: what they leave, and that a killed one goes on as if nothing had been."""

import json
import os
import signal
import time

import pytest
from settled import settled
from trained_runs import PLAN, Run

from cputrain.engines import specs
from cputrain.machine import compilers
from cputrain.record.train import DECODER, Ended, Failed, Kept, Progressed, Ready
from cputrain.run import recording
from cputrain.run.session import Session
from cputrain.worker.training import checkpoints

pytest.importorskip("numpy")
SIZES = {
    "n_layer": 1,
    "n_embd": 32,
    "n_head": 2,
    "seq_len": 32,
    "rows": 60,
    "threads": 1,
    "learning_rate": 0.01,
    "lr_warmup_steps": 5,
}
SMALL = settled(**SIZES, engine="numpy", attention_backend="manual")


def run_of(root, name, experiment=SMALL, **plan):
    return Run(root, name, experiment, **plan)


@pytest.fixture
def whole(own_root):
    run = run_of(own_root, "whole")
    run.answers = run.train()
    return run


def test_a_masked_run_tells_how_much_is_right_and_where_its_time_went(own_root):
    pytest.importorskip("torch")
    masked = {"architecture": "bert", "objective": "masked_node", "vocab_size": 258}
    experiment = SMALL.but(engine="torch", attention_backend=None, **masked)
    run = Run(own_root, "masked", specs.settle(experiment))
    last = run.train()[-1]
    assert isinstance(last, Ended), last
    assert last.accuracy.keys() == {"tokens", "nodes"} and last.no_accuracy is None
    evaluated = [row for row in run.rows if row["validation_loss"]]
    assert all(row["accuracy"] and row["node_accuracy"] for row in evaluated)
    assert float(evaluated[-1]["accuracy"]) == last.accuracy["tokens"]
    assert sum(row["accuracy"] != "" for row in run.rows) == 4
    steps_s = sum(float(row["step_s"]) for row in run.rows)
    assert last.phases["steps_s"] == pytest.approx(steps_s)
    assert min(last.phases[name] for name in ("data_s", "evaluation_s", "saving_s")) > 0


def test_a_run_without_masks_says_why_it_has_no_accuracy(whole):
    assert whole.answers[-1].accuracy == {} and "masks none" in whole.answers[-1].no_accuracy
    assert not any(row["accuracy"] for row in whole.rows)


def test_a_run_leaves_curve_checkpoints_and_model(own_root, whole):
    last = whole.answers[-1]
    assert isinstance(last, Ended), last
    assert last.is_done and last.step == 24
    (ready,) = [a for a in whole.answers if isinstance(a, Ready)]
    assert ready.in_force and all(check.ok for check in ready.in_force)
    assert [int(row["step"]) for row in whole.rows] == list(range(1, 25))
    validated = {
        int(row["step"]): float(row["validation_loss"])
        for row in whole.rows
        if row["validation_loss"]
    }
    assert [*validated] == [6, 12, 18, 24]
    assert validated[24] < validated[6]
    assert last.best_loss == min(validated.values())
    rates = [float(row["learning_rate"]) for row in whole.rows]
    assert rates[0] == pytest.approx(0.002) and rates[4] == pytest.approx(0.01)
    assert rates[-1] == pytest.approx(0.001) and rates[4:] == sorted(rates[4:], reverse=True)
    assert last.training_s == pytest.approx(sum(float(row["step_s"]) for row in whole.rows))
    told = [a for a in whole.answers if isinstance(a, Progressed)]
    assert told[-1].step == 24 and told[-1].left_s == 0
    assert (whole.folder / "model.safetensors").exists()
    kept = checkpoints.steps(whole.folder)
    assert kept[-1] == checkpoints.pointed(whole.folder, checkpoints.LATEST) == 24
    assert checkpoints.pointed(whole.folder, checkpoints.BEST) == last.best_step
    assert len(kept) <= 3


def engines():
    yield "numpy", SMALL
    yield "torch", SMALL.but(engine="torch", attention_backend="sdpa", dropout=0.0)
    if compilers.is_here("gcc"):
        yield "native", SMALL.but(engine="native")


@pytest.mark.parametrize(("name", "experiment"), [pytest.param(*e, id=e[0]) for e in engines()])
def test_killed_and_resumed_the_curve_is_that_of_a_run_never_stopped(own_root, name, experiment):
    pytest.importorskip("torch")
    experiment = experiment.but(grad_accum=2, threads=None)
    whole, cut = (run_of(own_root, each, experiment) for each in ("whole", "cut"))
    assert isinstance(whole.train()[-1], Ended)
    with cut.start() as process:
        cut.until(Kept, 8, process)
        process.kill()
    resumed = checkpoints.pointed(cut.folder, checkpoints.LATEST)
    assert 8 <= resumed < 24
    last = cut.train(resume=resumed)[-1]
    assert isinstance(last, Ended) and last.step == 24, last
    assert cut.curve == whole.curve
    models = [(run.folder / "model.safetensors").read_bytes() for run in (whole, cut)]
    assert models[0] == models[1]


def test_asked_to_stop_it_saves_and_ends_and_the_rest_is_the_same(own_root, whole):
    stopped = run_of(own_root, "stopped", save_every=1000)
    with stopped.start() as process:
        stopped.until(Kept, 6, process)
        process.send_signal(signal.SIGTERM)
        answers = [DECODER.decode(line) for line in process.stdout]
    last = answers[-1]
    assert isinstance(last, Ended) and not last.is_done and 6 <= last.step < 24
    assert process.returncode == 0
    assert stopped.train(resume=last.step)[-1].is_done
    assert stopped.curve == whole.curve


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_at_its_last_step_a_run_goes_on_without_a_step_and_writes_the_same_model(own_root, engine):
    pytest.importorskip("torch")
    backend = {"numpy": "manual", "torch": "sdpa"}[engine]
    run = run_of(own_root, "whole", SMALL.but(engine=engine, attention_backend=backend))
    first, curve = run.train()[-1], run.curve
    model = (run.folder / "model.safetensors").read_bytes()
    (run.folder / "model.safetensors").unlink()
    last = run.train(resume=24)[-1]
    assert isinstance(last, Ended) and last.is_done and last.loss is None, last
    assert last.training_s == first.training_s and last.validation_loss == first.validation_loss
    assert (run.folder / "model.safetensors").read_bytes() == model and run.curve == curve


@pytest.mark.parametrize("resume", [None, 8])
def test_asked_to_stop_while_tokens_are_made_it_ends_at_once(own_root, whole, resume):
    (own_root / "never.txt").unlink(missing_ok=True)
    os.mkfifo(own_root / "never.txt")  # a file of which nothing ever comes
    process = whole.start(files=[str(own_root / "never.txt")], resume=resume)
    try:
        end = time.monotonic() + 60
        while not list((own_root / "data").glob(".own-*")):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
    finally:
        process.kill()
    last = [DECODER.decode(line) for line in process.stdout][-1]
    assert isinstance(last, Ended) and not last.is_done and last.step == (resume or 0)
    seconds = sum(float(row["step_s"]) for row in whole.rows[: resume or 0])
    assert last.training_s == pytest.approx(seconds)
    assert len(whole.rows) == 24 and not list((own_root / "data").glob(".own-*"))


def test_what_is_held_back_is_never_trained_on(own_root, whole):
    import numpy as np

    from cputrain.data.prepared import prepare
    from cputrain.worker.training.split import split

    tokens = prepare(SMALL, own_root / "data", offline=True).tokens
    train, rest = split(tokens, PLAN.validation_share, SMALL.training.seed)

    def documents(part):
        return [tuple(x) for x in np.split(part.ids, np.flatnonzero(part.ids == part.end) + 1)]

    assert sorted(documents(train) + documents(rest)) == sorted([*documents(tokens), ()])
    assert len(documents(rest)) - 1 == 3  # of 60
    again, _ = split(tokens, PLAN.validation_share, SMALL.training.seed)
    other, _ = split(tokens, PLAN.validation_share, 1)
    assert np.array_equal(train.ids, again.ids) and not np.array_equal(train.ids, other.ids)


def test_a_damaged_or_foreign_checkpoint_is_refused(own_root, whole):
    step = checkpoints.pointed(whole.folder, checkpoints.LATEST)
    other = SMALL.but(n_embd=64).identity
    with pytest.raises(checkpoints.CheckpointError, match="of another model"):
        checkpoints.read(whole.folder, step, other)
    path = whole.folder / "checkpoints" / f"step-{step}.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(checkpoints.CheckpointError, match="cut off"):
        checkpoints.read(whole.folder, step)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(checkpoints.CheckpointError, match="SHA-256"):
        checkpoints.read(whole.folder, step)


def test_a_loss_that_is_not_finite_ends_the_run_and_keeps_the_last_good_checkpoint(own_root):
    run = run_of(own_root, "wild", SMALL.but(learning_rate=10.0, weight_decay=10.0), clip=None)
    last = run.train(steps=400, validate_every=1000)[-1]
    assert isinstance(last, Failed), last
    assert last.reason.startswith("DidNotTrain: ")
    assert any(word in last.reason for word in ("is nan", "is inf", "e+", "not finite"))
    step = checkpoints.pointed(run.folder, checkpoints.LATEST)
    if step is not None:
        weights, _ = checkpoints.tensors(run.folder, checkpoints.read(run.folder, step))
        import numpy as np

        assert all(np.isfinite(array).all() for array in weights.values())


def test_checkpoints_are_pruned_and_those_of_the_multiples_stay(own_root):
    run = run_of(own_root, "pruned", save_every=2, keep_every=8)
    run.train()
    assert {8, 16, 22, 24} <= {*checkpoints.steps(run.folder)}
    assert len(checkpoints.steps(run.folder)) <= 5
    assert not list(run.folder.rglob("*.tmp"))
    written = json.loads((run.folder / "checkpoints" / "step-24.json").read_text())
    assert written["identity"] == SMALL.identity and written["next_batch"] == 24


def test_the_model_of_a_run_takes_no_room_from_those_of_suites(own_root):
    session = Session.from_env()
    for folder, has_room in (("train/mine", True), ("SeqLen/512", False)):
        path = own_root / "output" / "here" / folder / "model.safetensors"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.truncate(recording.MODELS_BYTES)
        assert recording.has_room(session) == has_room
