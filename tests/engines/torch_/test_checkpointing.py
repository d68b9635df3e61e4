"""Activation checkpointing: the same gradients from fewer saved tensors."""

import pytest
from made_model import BERT, assert_same, batch, gradients, make
from settled import SMALL

torch = pytest.importorskip("torch")

MODELS = {
    "gpt": {},
    "llama": {"architecture": "llama", "activation": "swiglu"},
    "bert": BERT,
    "gmlp": {"architecture": "gmlp"},
    "ssm": {"architecture": "ssm"},
    "moe": {"architecture": "moe"},
}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_gradients(name):
    plain = SMALL.but(**MODELS[name])
    parts = batch(plain)
    torch.manual_seed(0)  # moe's router is noisy
    loss, expected = gradients(make(plain, spread=0.1), parts)
    torch.manual_seed(0)
    loss_again, gradients_again = gradients(
        make(plain.but(activation_checkpointing=True), spread=0.1), parts
    )
    assert loss_again == loss
    assert_same(gradients_again, expected, 1e-6)


def kept(experiment):
    """Numbers that the forward pass keeps for the backward one, weights left out."""
    made, parts, sizes = make(experiment), batch(experiment), {}
    weights = {p.data_ptr() for p in made.parameters()}

    def keep(tensor):
        storage = tensor.untyped_storage().data_ptr()
        if tensor.data_ptr() not in weights:
            sizes[storage] = tensor.untyped_storage().nbytes() // 4
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = made(*parts)
    assert loss.requires_grad
    return sum(sizes.values())


def test_only_the_inputs_of_blocks_are_kept():
    states = 3 * 24 * 32
    plain = {layers: kept(SMALL.but(n_layer=layers)) for layers in (1, 4)}
    few = {
        layers: kept(SMALL.but(n_layer=layers, activation_checkpointing=True)) for layers in (1, 4)
    }
    assert plain[4] - plain[1] > 3 * 15 * states
    assert few[4] - few[1] <= 3 * (states + 2048)  # and the generator's state


@pytest.mark.parametrize("architecture", ["gpt", "llama"])
def test_dropout_repeats_itself(architecture):
    plain = SMALL.but(architecture=architecture, dropout=0.3, attention_backend="manual")
    parts, results = batch(plain), []
    for checkpointing in (False, True):
        made = make(plain.but(activation_checkpointing=checkpointing), spread=0.1)
        torch.manual_seed(5)
        results.append((*gradients(made, parts), torch.rand(1).item()))
    (loss, expected, _), (loss_again, gradients_again, _) = results
    assert loss_again == loss
    assert_same(gradients_again, expected, 1e-6)
    assert results[0][2] == results[1][2]  # and the generator goes on as without
