"""Real runs of two processes: the losses of one, checkpoints, how they are stopped or killed."""

import os
import shutil
import signal
import sys
import time

import pytest
from roots import take_root
from settled import settled
from trained_runs import Run

from cputrain import environ
from cputrain.machine import processes
from cputrain.record.requests import WorkerRequest
from cputrain.record.train import DECODER, Ended, Failed, Kept, Ready
from cputrain.run import launch, placement
from cputrain.worker.training import checkpoints

pytest.importorskip("torch")

ONE = settled(
    n_layer=2,
    n_embd=32,
    n_head=2,
    seq_len=32,
    rows=60,
    batch_size=4,
    grad_accum=2,
    learning_rate=0.003,
    lr_warmup_steps=5,
    dropout=0.0,
)
TWO = ONE.but(processes=2)
DROPPING = TWO.but(dropout=0.2, attention_backend="manual")
pytestmark = pytest.mark.skipif((reason := placement.why_not(TWO)) is not None, reason=str(reason))
EQUAL = "weights of all processes"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder for all runs of this file."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        take_root(patch, folder)
        for name in (environ.SESSION, environ.RUN, environ.MODE, environ.EVENTS):
            patch.delenv(name, raising=False)
        patch.setenv(environ.MACHINE, "here")
        patch.setenv(environ.OFFLINE, "1")
        yield folder


def trained(root, name, experiment, **plan):
    run = Run(root, name, experiment, **plan)
    run.answers = run.train()
    assert isinstance(run.answers[-1], Ended), run.answers[-1]
    return run


@pytest.fixture(scope="module")
def alone(root):
    return trained(root, "alone", ONE, keep_every=12)


@pytest.fixture(scope="module")
def together(root):
    return trained(root, "together", TWO, keep_every=12)


@pytest.fixture(scope="module")
def dropping(root):
    return trained(root, "dropping", DROPPING)


def losses(run):
    return [float(row["loss"]) for row in run.rows]


def validated(run):
    return [float(row["validation_loss"]) for row in run.rows if row["validation_loss"]]


def same_curve(run, other):
    assert len(losses(run)) == 24
    assert losses(run) == pytest.approx(losses(other), abs=1e-5, rel=0)
    assert validated(run) == pytest.approx(validated(other), abs=1e-5, rel=0)


def ranks(root):
    """Process by rank."""
    pids = {}
    for pid in processes.marked(environ.ROOT, str(root)):
        for word in processes.environment(pid):
            if word.startswith(b"RANK="):
                pids[int(word[5:])] = pid
    return pids


def left_over(root):
    """What of a run is still there, once its launcher has gone."""
    return processes.marked(environ.ROOT, str(root))


def test_two_processes_have_the_losses_of_one(alone, together):
    same_curve(together, alone)
    assert losses(together)[-1] < losses(together)[0] - 0.5
    assert {row["learning_rate"] for row in together.rows} == {
        row["learning_rate"] for row in alone.rows
    }


def test_ranks_end_with_the_same_weights_and_what_was_in_force_on_each_is_told(together):
    (ready,) = [a for a in together.answers if isinstance(a, Ready)]
    checks = {check.name: check for check in ready.in_force}
    assert all(check.ok for check in ready.in_force)
    assert checks["processes that train together"].actual == 2
    masks = [checks[f"{who}affinity mask at launch"].actual for who in ("", "rank 1: ")]
    assert masks[0] and masks[1] and not set(masks[0]) & set(masks[1])
    assert checks["rank 1: torch.get_num_threads()"].actual == len(masks[1])
    assert checks["rank 1: gradients of a step from the mean over all processes"].ok
    ended = together.answers[-1]
    assert [(check.name, check.actual) for check in ended.agreed] == [(EQUAL, "equal")]
    assert len(ended.peak_rss_bytes_by_rank) == 2
    assert ended.peak_rss_bytes == sum(ended.peak_rss_bytes_by_rank)


def test_rows_that_are_too_few_are_shared_by_micro_batches(root):
    single = ONE.but(batch_size=1, grad_accum=4)
    pair = [
        trained(root, f"single-{n}", single.but(processes=n), validate_every=100) for n in (None, 2)
    ]
    same_curve(*pair)


def test_a_checkpoint_of_one_process_goes_on_with_two_and_back(root, alone):
    run = Run(root, "alone", TWO, keep_every=12)
    for experiment in (TWO, ONE):
        run.experiment = experiment
        before = run.curve
        assert isinstance(run.train(resume=12)[-1], Ended)
        assert run.curve[:12] == before[:12]
        last = [float(loss) for _, loss, _ in run.curve]
        assert last == pytest.approx([float(loss) for _, loss, _ in before], abs=1e-5, rel=0)


def test_at_their_last_step_both_go_on_without_a_step_and_write_the_same_model(root, together):
    run = Run(root, "at-its-end", TWO, keep_every=12)
    shutil.copytree(together.folder, run.folder)
    (run.folder / "model.safetensors").unlink()
    last = run.train(resume=24)[-1]
    assert isinstance(last, Ended) and last.is_done, last
    models = [(r.folder / "model.safetensors").read_bytes() for r in (run, together)]
    assert models[0] == models[1] and run.curve == together.curve


def test_stopped_after_one_step_on_all_ranks_it_goes_on_bit_for_bit_with_dropout(root, dropping):
    run = Run(root, "stopped", DROPPING, save_every=1000)
    with run.start() as process:
        run.until(Kept, 6, process)
        process.send_signal(signal.SIGTERM)
        answers = [DECODER.decode(line) for line in process.stdout]
    last = answers[-1]
    assert isinstance(last, Ended) and not last.is_done and 6 <= last.step < 24
    assert process.returncode == 0 and not left_over(root)
    kept = checkpoints.read(run.folder, last.step, checkpoints.identity(DROPPING))
    _, state = checkpoints.tensors(run.folder, kept)
    assert bytes(state["random"]) != bytes(state["ranks/1/random"])
    assert run.train(resume=last.step)[-1].is_done
    assert run.curve == dropping.curve
    models = [(r.folder / "model.safetensors").read_bytes() for r in (run, dropping)]
    assert models[0] == models[1]


def test_a_signal_to_one_rank_stops_all_after_the_same_step_saved_by_the_clock(root):
    run = Run(root, "signalled", TWO, steps=100_000, save_every=None, save_s=0.01)
    with run.start() as process:
        run.until(Kept, 2, process)
        os.kill(ranks(root)[1], signal.SIGTERM)
        answers = [DECODER.decode(line) for line in process.stdout]
    last = answers[-1]
    assert isinstance(last, Ended) and not last.is_done, last
    assert checkpoints.pointed(run.folder, checkpoints.LATEST) == last.step
    assert not left_over(root)


def test_a_signal_before_the_first_step_ends_it_with_nothing_trained(root):
    run = Run(root, "early", TWO)
    with run.start() as process:
        process.stdout.readline()  # placed: its ranks are starting
        process.send_signal(signal.SIGTERM)
        answers = [DECODER.decode(line) for line in process.stdout]
    assert isinstance(answers[-1], Ended) and answers[-1].step == 0
    assert not left_over(root)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_ends_the_run_is_named_and_the_last_checkpoint_goes_on(root, together, rank):
    run = Run(root, f"killed-{rank}", TWO, save_every=4)
    with run.start(steps=100_000) as process:
        run.until(Kept, 8, process)
        os.kill(ranks(root)[rank], signal.SIGKILL)
        start = time.monotonic()
        answers = [DECODER.decode(line) for line in process.stdout]
    assert time.monotonic() - start < 60  # and not until a collective times out
    assert isinstance(answers[-1], Failed)
    assert answers[-1].reason == f"rank {rank} killed by SIGKILL while training"
    assert not left_over(root)
    step = checkpoints.pointed(run.folder, checkpoints.LATEST)
    assert isinstance(run.train(resume=step, steps=step + 4)[-1], Ended)
    assert [int(row["step"]) for row in run.rows] == list(range(1, step + 5))


# Its ranks run this, in which DDP's place is taken by what averages nothing.
WITHOUT_DDP = """
from cputrain.machine import parent
from cputrain.worker.ranks import torchrun
parent.die_with_parent()
torchrun.take_place()
import contextlib, torch
from cputrain.worker import serving
from cputrain.engines.torch_ import parallel
from cputrain.worker.training.ranks import process
class Plain(torch.nn.Module):
    def __init__(self, module, **_):
        super().__init__()
        self.module = module
    def forward(self, *tensors):
        return self.module(*tensors)
    def no_sync(self):
        return contextlib.nullcontext()
parallel.DistributedDataParallel = Plain
serving.leave(process.main)
"""


def failed(root, code, **plan):
    """Why a run of two such processes fails."""
    folder = root / "bad"
    request = WorkerRequest(
        folder=str(folder), offline=True, model_cap_bytes=0, plan=Run(root, "bad", TWO, **plan).plan
    )
    worker = launch.Worker(TWO, request, command=(sys.executable, "-P", "-c", code))
    try:
        while not isinstance(answer := DECODER.decode(worker.line()), Failed | Ended):
            pass
    finally:
        worker.end()
    assert isinstance(answer, Failed), answer
    assert not list(folder.glob("checkpoints/*"))
    return answer.reason


def test_a_run_whose_gradients_are_not_averaged_fails_before_its_first_step(root):
    reason = failed(root, WITHOUT_DDP)
    assert "NotInForce: gradients of a step from the mean over all processes" in reason


# On rank 1 the last bit of one number is another one before anything is saved.
ONE_BIT = """
import os
from cputrain.machine import parent
from cputrain.worker.ranks import torchrun
parent.die_with_parent()
torchrun.take_place()
from cputrain.worker import serving
from cputrain.worker.training.ranks import process, saving
honest = saving.RankSaving._write
def changed(self, step):
    if os.environ["RANK"] == "1":
        weights = self._engine.weights()
        weights["ln_f.bias"].view("int32")[-1] ^= 1
        self._engine.load_weights(weights)
    honest(self, step)
saving.RankSaving._write = changed
serving.leave(process.main)
"""


def test_no_checkpoint_is_written_where_weights_are_not_equal(root):
    reason = failed(root, ONE_BIT, save_every=2)
    assert "weights of all processes: asked for equal" in reason
    assert "1 of" in reason


def test_a_loss_that_is_not_finite_is_said_once_and_for_all_ranks(root):
    wild = TWO.but(learning_rate=10.0, weight_decay=10.0)
    run = Run(root, "wild", wild, clip=None)
    last = run.train(steps=400, validate_every=1000)[-1]
    assert isinstance(last, Failed) and last.reason.startswith("DidNotTrain: "), last
    assert not left_over(root)
