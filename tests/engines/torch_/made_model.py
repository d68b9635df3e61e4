"""Models with weights in place, and batches for them, for tests of this folder."""

import numpy as np
import torch

from cputrain.data.batches import IGNORE
from cputrain.engines.torch_ import model
from cputrain.model import initial

BERT = {"architecture": "bert", "vocab_size": 300, "objective": "masked"}
NODES = {**BERT, "objective": "masked_node"}


def make(experiment, spread=0.0, seed=0):
    """The experiment's model; `spread` is the deviation of what is added to every weight."""
    with torch.device("meta"):
        made = model.build(experiment)
    rng = np.random.default_rng(seed)
    weights = {
        name: torch.from_numpy(w + spread * rng.standard_normal(w.shape, np.float32))
        for name, w in initial.initial_weights(experiment).items()
    }
    made.load_state_dict(weights, assign=True)
    return made


def batch(experiment, seed=0, ignored=0.4):
    """Random (inputs, targets), and with masked nodes (relations, node_targets) too."""
    rng = np.random.default_rng(seed)
    training, vocab = experiment.training, experiment.model.vocab_size
    shape = (training.batch_size, training.seq_len)

    def targets():
        drawn = rng.integers(0, vocab, shape)
        return np.where(rng.random(shape) < ignored, IGNORE, drawn)

    parts = [rng.integers(0, vocab, shape), targets()]
    if training.objective == "masked_node":
        parts += [rng.integers(0, 13, shape), targets()]
    return [torch.from_numpy(part) for part in parts]


def gradients(made, parts):
    """Loss and gradients by name; those of an earlier call are forgotten."""
    made.zero_grad()
    loss = made(*parts)
    loss.backward()
    return loss.item(), {name: p.grad for name, p in made.named_parameters()}


def assert_same(actual, expected, share=1e-5):
    """Two sets of gradients agree within a share of each one's largest entry."""
    assert actual.keys() == expected.keys()
    for name, gradient in expected.items():
        if gradient is None:
            assert actual[name] is None, name
            continue
        largest = gradient.abs().max().item()
        assert (actual[name] - gradient).abs().max().item() <= share * largest + 1e-9, name
