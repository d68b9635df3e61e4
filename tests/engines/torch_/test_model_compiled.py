"""The model captured whole by torch.compile: the same loss and gradients as eager."""

import pytest
from made_model import NODES, assert_same, batch, gradients, make
from settled import SMALL

torch = pytest.importorskip("torch")

VARIANTS = {
    "two heads in chunks": {**NODES, "loss_chunk": 30},
    "llama": {"architecture": "llama", "activation": "swiglu"},
    "dropout and checkpointing": {
        "dropout": 0.2,
        "attention_backend": "manual",
        "activation_checkpointing": True,
    },
}


@pytest.mark.parametrize("name", VARIANTS)
def test_one_graph_gives_the_same(name):
    experiment = SMALL.but(n_layer=1, **VARIANTS[name])
    made, parts = make(experiment, spread=0.1), batch(experiment)
    torch.manual_seed(0)
    loss, expected = gradients(made, parts)
    torch._dynamo.reset()
    compiled = torch.compile(made, backend="aot_eager", fullgraph=True, dynamic=False)
    made.zero_grad()
    torch.manual_seed(0)
    compiled_loss = compiled(*parts)
    (compiled_loss * 0.5).backward()
    assert compiled_loss.item() == pytest.approx(loss, rel=1e-6)
    assert_same({n: 2 * p.grad for n, p in made.named_parameters()}, expected)
    torch._dynamo.reset()
