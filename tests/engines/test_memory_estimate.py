"""The memory estimate against measured peaks: of fresh processes, or forked as workers are."""

import json
import subprocess
import sys

import pytest
from settled import settled

from cputrain.machine import compilers
from cputrain.model.memory_estimate import memory_bytes

CHILD = """
import json, os, sys
import numpy as np
from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.experiment import Experiment
from cputrain.machine.memory import peak_resident
from cputrain.model.initial import initial_weights
from cputrain.worker import parent, resident

def peak(experiment):
    initial = initial_weights(experiment)  # a worker keeps it too
    engine = engines.build(experiment, initial)
    shape = (experiment.training.batch_size, experiment.training.seq_len)
    ids = np.random.default_rng(0).integers(0, 257, shape)
    for _ in range(2):
        engine.train_step(*[Batch(ids, ids)] * experiment.training.grad_accum)
    engine.weights()
    print(peak_resident(), flush=True)

if len(sys.argv) > 1:
    peak(Experiment.from_json(json.loads(sys.argv[1])))
    sys.exit()
parent.load("torch")
assert parent.why_not_single_threaded() is None
pages = resident.file_pages()
for line in sys.stdin:
    if (child := os.fork()) == 0:
        resident.touch(pages)
        peak(Experiment.from_json(json.loads(line)))
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(0, flush=True)
"""
"""The peak of an experiment; without an argument, of each on a line of its input."""


@pytest.fixture(scope="module")
def forked_peak():
    """Ask for the peak of an experiment of torch's, which is imported once."""
    pytest.importorskip("torch")
    words = [sys.executable, "-c", CHILD]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes) as parent:

        def ask(experiment):
            parent.stdin.write(json.dumps(experiment.to_json()) + "\n")
            parent.stdin.flush()
            return int(parent.stdout.readline())

        yield ask


def fresh_peak(experiment):
    words = [sys.executable, "-c", CHILD, json.dumps(experiment.to_json())]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    return int(done.stdout)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"seq_len": 2048, "n_layer": 2},
        {"seq_len": 1024, "attention_backend": "manual", "n_layer": 2},
        {"batch_size": 64, "seq_len": 128, "n_layer": 2},
        {"n_embd": 1024, "n_head": 16, "n_layer": 2, "seq_len": 128},
        {"vocab_size": 32_000, "batch_size": 4, "n_layer": 1},
        {"vocab_size": 32_000, "batch_size": 4, "loss_chunk": 64, "n_layer": 1},
        {"batch_size": 8, "activation_checkpointing": True},
        {"batch_size": 16, "objective": "forward"},
        {"batch_size": 8, "architecture": "ssm", "n_layer": 2},
        {"batch_size": 8, "dropout": 0.1, "attention_backend": "manual", "n_layer": 2},
        {"n_embd": 1024, "n_head": 16, "seq_len": 16, "n_layer": 2, "precision": "bf16"},
        {"n_embd": 1024, "n_head": 16, "seq_len": 16, "optimizer": "sgd", "grad_accum": 2},
        {"batch_size": 16, "fine_tuning": "lora", "n_layer": 2},
        {"engine": "numpy", "attention_backend": "manual", "batch_size": 8},
        {"engine": "jax", "compile": "xla", "batch_size": 8, "activation_checkpointing": True},
        {"engine": "jax", "compile": "xla", "seq_len": 2048, "n_layer": 2},
        {"engine": "native", "attention_backend": "manual", "batch_size": 8},
        {"engine": "native", "attention_backend": "manual", "seq_len": 2048, "n_layer": 2},
    ],
    ids=str,
)
def test_estimate_is_near_the_peak(changes, request):
    if changes.get("engine") == "native" and not compilers.is_here("gcc"):
        pytest.skip("gcc is not installed")
    experiment, forks = settled(**changes), "engine" not in changes
    peak = request.getfixturevalue("forked_peak") if forks else fresh_peak
    estimate = memory_bytes(experiment).total
    assert estimate / 1.5 < peak(experiment) < estimate * 1.5
