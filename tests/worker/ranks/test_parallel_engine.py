"""Four real ranks on a few small shapes: the work of one process, and checks that catch lies."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from settled import settled

torch = pytest.importorskip("torch")


from cputrain import engines, paths  # noqa: E402
from cputrain.data.batches import IGNORE, Batch  # noqa: E402
from cputrain.engines import specs  # noqa: E402
from cputrain.experiment import ExperimentError  # noqa: E402
from cputrain.model import initial  # noqa: E402
from cputrain.worker.ranks import torchrun  # noqa: E402

RANKS = 4
SMALL = settled(n_layer=2, n_embd=32, n_head=2, seq_len=24, batch_size=4, processes=RANKS)
EXPERIMENTS = {
    "plain": SMALL,
    "accumulated": SMALL.but(grad_accum=3),
    "eight rows, by hand": SMALL.but(
        batch_size=8, n_embd=30, n_head=3, n_layer=1, attention_backend="manual", seq_len=17
    ),
    "a shorter sequence": SMALL.but(grad_accum=2),
    "micro-batches shared": SMALL.but(batch_size=2, grad_accum=4),
    "bf16": SMALL.but(precision="bf16"),
    "lies": SMALL,
}
STEPS = 10
MEAN = "gradients of a step from the mean over all processes"
APART = "gradients of this process's rows from that mean"
EQUAL = "weights of all processes"


def batches_of(experiment, seed, is_short):
    """Random tokens for every step's micro-batches; the last row of a step may be a short one."""
    training, rng = experiment.training, np.random.default_rng(seed)
    shape = (training.batch_size, training.seq_len + 1)
    steps = []
    for _ in range(STEPS):
        ids = [rng.integers(0, 257, shape) for _ in range(training.grad_accum)]
        steps.append([(np.ascontiguousarray(i[:, :-1]), i[:, 1:].copy()) for i in ids])
        if is_short:
            steps[-1][-1][1][-1, 3:] = IGNORE
    return steps


@pytest.fixture(scope="module")
def given():
    each = enumerate(EXPERIMENTS.items())
    return {name: batches_of(e, seed, name.startswith("a short")) for seed, (name, e) in each}


@pytest.fixture(scope="module")
def reports(tmp_path_factory, given):
    """What each rank says."""
    folder = tmp_path_factory.mktemp("ranks")
    for name, steps in given.items():
        torch.save(steps, folder / f"{name}.pt")
    written = {name: experiment.to_json() for name, experiment in EXPERIMENTS.items()}
    (folder / "experiments.json").write_text(json.dumps(written))
    program = Path(__file__).with_name("ranks_program.py")
    done = subprocess.run(
        torchrun.words(RANKS, (sys.executable, "-P", str(program), str(folder))),
        env={**os.environ, "PYTHONPATH": str(paths.PROJECT), "OMP_NUM_THREADS": "1"}
        | {"GLOO_SOCKET_IFNAME": torchrun.INTERFACE},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, torchrun.without_its_words(done.stderr)[-3000:] or done.stderr
    return json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize("name", [n for n in EXPERIMENTS if n != "bf16"])
def test_the_losses_are_those_of_one_process_in_numpy(reports, given, name):
    experiment = EXPERIMENTS[name].but(engine="numpy", processes=None, attention_backend="manual")
    reference = engines.build(experiment, initial.initial_weights(experiment))
    expected = [reference.train_step(*(Batch(*pair) for pair in pairs)) for pairs in given[name]]
    assert reports[0][name]["losses"] == pytest.approx(expected, rel=1e-4)
    assert {report[name]["steps_done"] for report in reports} == {STEPS}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_gradients_are_averaged_and_weights_stay_equal_to_the_last_bit(reports, name):
    for report in reports:
        checks = report[name]["checks"]
        assert checks[MEAN] and checks[APART]
    assert reports[0][name]["checks"][EQUAL]


def test_each_rank_looks_at_its_own_rows(reports):
    assert len({report["plain"]["rows_loss"] for report in reports}) == RANKS


def test_ranks_with_the_same_rows_are_found(reports):
    told = reports[0]["told"]["same rows"]
    assert told[MEAN] and not told[APART] and told[EQUAL]


def test_one_bit_of_one_number_on_one_rank_is_found(reports):
    told = reports[0]["told"]["one bit"]
    assert told[MEAN] and told[APART] and not told[EQUAL]


def test_training_without_averaging_is_found_by_gradients_and_by_weights(reports):
    assert reports[0]["told"]["before"] == {EQUAL: True}
    assert not reports[0]["told"]["not averaged"][EQUAL]
    assert not any(report["told"]["not averaged"][MEAN] for report in reports)


def test_fewer_processes_than_asked_are_found(reports):
    assert reports[0]["members"] == [True, True]
    assert reports[0]["asked for more"] == [False, True]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"grad_accum": 4, "micro_batches": 2}, "whole steps are timed"),
        ({"loss_chunk": 25}, "each of 4 processes has 24 rows"),
        ({"batch_size": 6, "grad_accum": 3}, "does not divide"),
        ({"threads": 2}, "with processes = 4"),
        ({"engine": "numpy", "attention_backend": "manual"}, "no such setting"),
    ],
)
def test_what_cannot_be_shared_is_refused(changes, line):
    with pytest.raises(ExperimentError, match=line):
        specs.settle(SMALL.but(**changes))
