"""The memory estimate against measured peaks of fresh processes."""

import json
import subprocess
import sys

import pytest
from settled import settled

from cputrain.machine import compilers
from cputrain.model.memory_estimate import memory_bytes

CHILD = """
import json, sys
import numpy as np
from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.experiment import Experiment
from cputrain.machine.memory import peak_resident
from cputrain.model.initial import initial_weights

experiment = Experiment.from_json(json.loads(sys.argv[1]))
initial = initial_weights(experiment)  # a worker keeps it too
engine = engines.build(experiment, initial)
shape = (experiment.training.batch_size, experiment.training.seq_len)
ids = np.random.default_rng(0).integers(0, 257, shape)
for _ in range(2):
    engine.train_step(*[Batch(ids, ids)] * experiment.training.grad_accum)
engine.weights()
print(peak_resident())
"""


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"seq_len": 2048, "n_layer": 2},
        {"seq_len": 1024, "attention_backend": "manual", "n_layer": 2},
        {"batch_size": 64, "seq_len": 128, "n_layer": 2},
        {"n_embd": 1024, "n_head": 16, "n_layer": 2, "seq_len": 128},
        {"vocab_size": 32_000, "batch_size": 4, "n_layer": 2},
        {"vocab_size": 32_000, "batch_size": 4, "loss_chunk": 64, "n_layer": 2},
        {"batch_size": 8, "activation_checkpointing": True},
        {"batch_size": 16, "objective": "forward"},
        {"batch_size": 8, "architecture": "ssm", "n_layer": 2},
        {"batch_size": 8, "dropout": 0.1, "attention_backend": "manual", "n_layer": 2},
        {"n_embd": 1024, "n_head": 16, "seq_len": 64, "n_layer": 2, "precision": "bf16"},
        {"n_embd": 1024, "n_head": 16, "seq_len": 64, "optimizer": "sgd", "grad_accum": 2},
        {"batch_size": 16, "fine_tuning": "lora", "n_layer": 2},
        {"engine": "numpy", "attention_backend": "manual", "batch_size": 8},
        {"engine": "jax", "compile": "xla", "batch_size": 8, "activation_checkpointing": True},
        {"engine": "jax", "compile": "xla", "seq_len": 2048, "n_layer": 2},
        {"engine": "native", "attention_backend": "manual", "batch_size": 8},
        {"engine": "native", "attention_backend": "manual", "seq_len": 2048, "n_layer": 2},
    ],
    ids=str,
)
def test_estimate_is_near_the_peak(changes):
    if changes.get("engine") == "native" and not compilers.is_here("gcc"):
        pytest.skip("gcc is not installed")
    if "engine" not in changes:
        pytest.importorskip("torch")
    experiment = settled(**changes)
    words = [sys.executable, "-c", CHILD, json.dumps(experiment.to_json())]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    estimate = memory_bytes(experiment).total
    assert estimate / 1.5 < int(done.stdout) < estimate * 1.5
