"""The whole model: names, embeddings, heads, objectives."""

import numpy as np
import pytest
from made_model import BERT, NODES, batch, gradients, make
from settled import SMALL

from cputrain.engines import EngineError
from cputrain.model import shapes

torch = pytest.importorskip("torch")

GRID = {
    "gpt": {},
    "untied": {"tied": False},
    "gated": {"activation": "swiglu", "mlp_ratio": 3},
    "wide heads": {"head_dim": 24, "n_kv_head": 1},
    "llama": {"architecture": "llama", "activation": "swiglu", "n_kv_head": 1},
    "llama untied": {"architecture": "llama", "activation": "swiglu", "tied": False},
    "bert": BERT,
    "bert untied": {**BERT, "tied": False},
    "masked nodes": NODES,
    "masked nodes untied": {**NODES, "tied": False},
    "lstm": {"architecture": "lstm"},
    "gmlp": {"architecture": "gmlp"},
    "ssm": {"architecture": "ssm"},
    "moe": {"architecture": "moe"},
    "dropout": {"dropout": 0.1, "attention_backend": "manual"},
    "checkpointing": {"activation_checkpointing": True},
    "chunks": {"loss_chunk": 7},
}


@pytest.mark.parametrize("name", GRID)
def test_names_and_shapes_are_those_on_paper(name):
    experiment = SMALL.but(**GRID[name])
    made = make(experiment)
    weight_shapes = {n: tuple(p.shape) for n, p in made.named_parameters()}
    assert weight_shapes == shapes.weight_shapes(experiment)
    assert set(made.state_dict()) == set(weight_shapes)
    assert not any(tensor.is_meta for tensor in (*made.parameters(), *made.buffers()))


@pytest.mark.parametrize("name", GRID)
def test_every_parameter_gets_a_finite_gradient(name):
    experiment = SMALL.but(**GRID[name])
    loss, weight_gradients = gradients(make(experiment, spread=0.05), batch(experiment))
    assert np.isfinite(loss)
    for weight, gradient in weight_gradients.items():
        assert gradient.isfinite().all(), weight
        assert gradient.abs().max() > 0, weight


@pytest.mark.parametrize(
    ("name", "sees_later"), [("gpt", False), ("llama", False), ("moe", False), ("bert", True)]
)
def test_only_bert_sees_later_tokens(name, sees_later):
    experiment = SMALL.but(**GRID[name])
    made = make(experiment, spread=0.1).eval()
    inputs = batch(experiment)[0]
    changed = inputs.clone()
    changed[:, -1] = (changed[:, -1] + 1) % experiment.model.vocab_size
    with torch.no_grad():
        difference = (made.hidden(inputs) - made.hidden(changed)).abs().amax((0, 2))
    assert difference[-1] > 1e-3
    assert bool((difference[:-1] > 1e-4).all()) == sees_later
    assert bool((difference[:-1] == 0).all()) != sees_later


def test_an_untied_head_of_the_same_values_gives_the_same_loss():
    tied, untied = make(SMALL), make(SMALL.but(tied=False))
    shared = tied.state_dict()
    untied.load_state_dict({**shared, "head.weight": shared["wte"].clone()})
    parts = batch(SMALL)
    (loss, of_tied), (same, of_untied) = gradients(tied, parts), gradients(untied, parts)
    assert loss == same
    total = of_untied["wte"] + of_untied["head.weight"]
    assert torch.allclose(of_tied["wte"], total, atol=1e-7)
    absent = torch.ones(len(total), dtype=bool)
    absent[parts[0].unique()] = False
    assert (of_untied["wte"][absent] == 0).all()
    assert (of_untied["head.weight"][absent] != 0).any()


def layer_norm(x, weight, bias):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight + bias


def mean_loss(logits, targets):
    counted = targets != -100
    shifted = logits - logits.max(-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.mean(np.take_along_axis(log_p[counted], targets[counted][:, None], 1))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("chunk", [None, 10])
def test_masked_nodes_have_two_heads_over_the_same_states(tied, chunk):
    from math import erf

    experiment = SMALL.but(**NODES, tied=tied, loss_chunk=chunk)
    made = make(experiment, spread=0.1)
    inputs, targets, relations, node_targets = batch(experiment)
    with torch.no_grad():
        loss = made(inputs, targets, relations, node_targets).item()
        x = made.hidden(inputs, relations).double().numpy()
    w = {name: p.detach().double().numpy() for name, p in made.named_parameters()}
    dense = x @ w["mlm.dense.weight"].T + w["mlm.dense.bias"]
    gelu = dense * 0.5 * (1 + np.vectorize(erf)(dense / np.sqrt(2)))
    normed = layer_norm(gelu, w["mlm.ln_1.weight"], w["mlm.ln_1.bias"])
    table = w["wte"] if tied else w["head.weight"]
    expected = mean_loss(normed @ table.T + w["mlm.bias"], targets.numpy())
    expected += mean_loss(x @ w["node_head.weight"].T, node_targets.numpy())
    assert loss == pytest.approx(expected, rel=1e-5)


def test_embeddings_of_bert_and_of_nodes():
    experiment = SMALL.but(**NODES)
    made = make(experiment, spread=0.1)
    made.h = torch.nn.ModuleList()
    inputs, _, relations, _ = batch(experiment)
    w = {name: p.detach().double().numpy() for name, p in made.named_parameters()}
    rows = np.zeros((3, 24, 32))
    for b in range(3):
        for t in range(24):
            rows[b, t] = w["wte"][inputs[b, t]] + w["wpe"][t]
            if relations[b, t] > 0:
                rows[b, t] += w["relation"][relations[b, t] - 1]
    expected = layer_norm(rows, w["ln_emb.weight"], w["ln_emb.bias"])
    assert np.allclose(made.hidden(inputs, relations).detach().numpy(), expected, atol=1e-5)


def test_only_relations_that_occur_get_a_gradient():
    experiment = SMALL.but(**NODES)
    inputs, targets, relations, node_targets = batch(experiment)
    relations = torch.where(relations > 4, 0, relations)
    _, weight_gradients = gradients(make(experiment), [inputs, targets, relations, node_targets])
    assert weight_gradients["relation"].abs().amax(1).gt(0).tolist() == [True] * 4 + [False] * 8


def test_relations_are_neither_missing_nor_ignored():
    experiment = SMALL.but(**NODES)
    inputs, targets, relations, node_targets = batch(experiment)
    with pytest.raises(EngineError, match="node_targets are missing"):
        make(experiment)(inputs, targets, relations)
    with pytest.raises(EngineError, match="relations are missing"):
        make(experiment)(inputs, targets)
    with pytest.raises(EngineError, match="relations are given"):
        make(SMALL)(inputs, targets % 257, relations, node_targets)
