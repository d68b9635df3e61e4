"""Dropout: in training alone, and where it is said to be."""

import pytest
from made_model import BERT, batch, make
from settled import SMALL

torch = pytest.importorskip("torch")

MODELS = {
    "gpt": {},
    "llama": {"architecture": "llama"},
    "bert": BERT,
    "lstm": {"architecture": "lstm"},
    "gmlp": {"architecture": "gmlp"},
    "ssm": {"architecture": "ssm"},
    "moe": {"architecture": "moe"},
}


@pytest.mark.parametrize("name", MODELS)
def test_only_in_training(name):
    plain = SMALL.but(**MODELS[name], attention_backend="manual")
    without, dropped = make(plain, spread=0.1), make(plain.but(dropout=0.2), spread=0.1)
    parts = batch(plain)
    with torch.no_grad():
        loss = without.eval()(*parts).item()
        assert dropped.eval()(*parts).item() == loss
        dropped.train()
        assert len({loss, dropped(*parts).item(), dropped(*parts).item()}) == 3
        torch.manual_seed(1)
        once = dropped(*parts)
        torch.manual_seed(1)
        assert dropped(*parts) == once


@pytest.mark.parametrize("name", ["gpt", "llama", "bert"])
def test_of_embeddings_and_of_both_branches_of_every_block(name):
    experiment = SMALL.but(**MODELS[name], attention_backend="manual", dropout=0.25, batch_size=8)
    made, seen = make(experiment, spread=0.1), []

    def look(module, inputs, output):
        if isinstance(module, torch.nn.Dropout) and inputs[0].shape == (8, 24, 32):
            seen.append((inputs[0], output))

    for module in made.modules():
        module.register_forward_hook(look)
    made(*batch(experiment))
    assert len(seen) == 1 + 2 * experiment.model.n_layer
    for before, after in seen:
        is_kept = after != 0
        assert torch.allclose(after[is_kept], before[is_kept] / 0.75)
        assert is_kept.float().mean().item() == pytest.approx(0.75, abs=0.03)


def test_none_costs_no_operator():
    assert not any(isinstance(module, torch.nn.Dropout) for module in make(SMALL).modules())
