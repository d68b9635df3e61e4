"""Attention against a loop over queries and heads."""

import numpy as np
import pytest
from settled import settled

from cputrain.engines.numpy_.attention import Attention

USUAL = settled(engine="numpy", attention_backend="manual", n_embd=12, n_head=4)
LENGTH = 12


def visible(attention, window, query):
    """The keys that a query sees, as VARIABLES.md says it in words."""
    if attention == "local":  # blocks of W that attend within themselves
        return range(query // window * window, query + 1)
    if attention == "sliding":  # the last W tokens
        return range(max(0, query - window + 1), query + 1)
    return range(query + 1)


def looped(experiment, qkv, batch_size):
    model, d = experiment.model, experiment.model.d_head
    q, k, v = np.split(
        qkv.reshape(batch_size, LENGTH, -1, d), [model.n_head, model.n_head + model.kv_heads], 2
    )
    y = np.zeros((batch_size, LENGTH, model.n_head, d))
    for b in range(batch_size):
        for head in range(model.n_head):
            shared = head // (model.n_head // model.kv_heads)
            for t in range(LENGTH):
                keys = list(visible(model.attention, model.window, t))
                scores = np.array([q[b, t, head] @ k[b, s, shared] for s in keys]) / np.sqrt(d)
                weights = np.exp(scores - scores.max())
                y[b, t, head] = weights @ v[b, keys, shared] / weights.sum()
    return y.reshape(batch_size * LENGTH, -1)


CASES = [
    {},
    {"n_kv_head": 2},
    {"n_kv_head": 1, "head_dim": 5},
    {"attention": "local", "window": 4},
    {"attention": "sliding", "window": 4},
    {"attention": "sliding", "window": 1, "n_kv_head": 2},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_weighted_sums_are_those_of_the_loop(case):
    experiment = USUAL.but(seq_len=LENGTH, batch_size=2, **case)
    model = experiment.model
    attention = Attention(experiment, np.dtype(np.float64))
    columns = (model.n_head + 2 * model.kv_heads) * model.d_head
    qkv = np.random.default_rng(0).standard_normal((2 * LENGTH, columns))
    y = np.empty((2 * LENGTH, model.n_head * model.d_head))
    attention.forward(qkv.copy(), np.empty(attention.scores_shape), y)
    assert np.allclose(y, looped(experiment, qkv, 2))
