"""Engines of small experiments, and batches for them, for tests of this folder."""

import numpy as np

from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.model import initial

BERT = {"architecture": "bert", "vocab_size": 300, "objective": "masked_node"}
DROPS = {"dropout": 0.3, "attention_backend": "manual"}
SLOW_KERNEL = {"optimizer_kernel": "default"}
"""For optimizers without a fused kernel."""


def build(experiment, weights=None):
    return engines.build(experiment, weights or initial.initial_weights(experiment))


def make_batch(experiment, seed=0):
    """Random tokens and targets; with masked nodes, random relations too."""
    rng = np.random.default_rng(seed)
    training, vocab = experiment.training, experiment.model.vocab_size
    shape = (training.batch_size, training.seq_len)
    parts = [rng.integers(0, vocab, shape) for _ in range(2)]
    if training.objective == "masked_node":
        parts += [rng.integers(0, 13, shape), rng.integers(0, vocab, shape)]
    return Batch(*parts)


def differing(a, b):
    """Names of the arrays that are not equal to the bit."""
    assert a.keys() == b.keys()
    return {name for name in a if not np.array_equal(a[name], b[name])}
