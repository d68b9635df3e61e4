"""What keeps all experts at work: the balance loss and the router's noise."""

from pydoc_data.topics import topics

import pytest

torch = pytest.importorskip("torch")

from made_model import assert_same, batch, gradients, make  # noqa: E402
from settled import SMALL  # noqa: E402

from cputrain.engines.torch_ import moe  # noqa: E402

MOE = SMALL.but(architecture="moe")
TEXT = "\n".join(topics[name] for name in sorted(topics)).encode()[:20_000]
"""English that ships with Python: the test does not hang on what we write."""


def test_balance_by_the_papers_formula():
    torch.manual_seed(0)
    logits = torch.randn(50, 4, dtype=torch.float64)
    load = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    p = [sum(float(row[i].exp() / row.exp().sum()) for row in logits) / 50 for i in range(4)]
    expected = 4 * sum(f * q for f, q in zip(load.tolist(), p, strict=True))
    assert float(moe.balance(logits, load)) == pytest.approx(expected)
    even = torch.full((4,), 0.25)
    assert float(moe.balance(torch.zeros(9, 4), even)) == pytest.approx(1)


def seeded(made, parts):
    """Loss, gradients by name and balance losses of a forward pass in training."""
    torch.manual_seed(0)
    balances = []
    hooks = [
        block.mlp.register_forward_hook(lambda mlp, *_: balances.append(mlp.auxiliary))
        for block in made.h
    ]
    loss, weight_gradients = gradients(made, parts)
    for hook in hooks:
        hook.remove()
    return loss, {name: gradient.clone() for name, gradient in weight_gradients.items()}, balances


def test_training_has_the_balances_gradient_and_the_loss_not_its_value(monkeypatch):
    made, parts = make(MOE, spread=0.2).train(), batch(MOE)
    loss, both, balances = seeded(made, parts)
    monkeypatch.setattr(moe, "BALANCE", 0.0)
    alone_loss, alone, _ = seeded(made, parts)
    assert loss == alone_loss
    assert [balance.item() > 0.09 for balance in balances] == [True, True]
    monkeypatch.undo()
    torch.manual_seed(0)
    x = made.drop(torch.nn.functional.embedding(parts[0], made.wte) + made.wpe)
    total = 0
    for block in made.h:
        x = block(x)
        total = total + block.mlp.auxiliary
    expected = torch.autograd.grad(total, list(made.parameters()), allow_unused=True)
    for (name, _), gradient in zip(made.named_parameters(), expected, strict=True):
        added = both[name] - alone[name]
        if gradient is None:
            assert not added.any(), name
        else:
            assert (added - gradient).abs().max() < 1e-5, name
    assert (both["h.1.mlp.router"] - alone["h.1.mlp.router"]).abs().max() > 1e-4


def test_evaluation_has_no_noise_and_no_balance():
    made, parts = make(MOE, spread=0.2), batch(MOE)
    assert made.train()(*parts).item() != made(*parts).item()
    assert made.eval()(*parts).item() == made(*parts).item()
    assert all(block.mlp.auxiliary is None for block in made.h)


def test_a_model_out_of_balance_is_pushed_back():
    """The expert that has most of the tokens loses them by the balance's gradient alone."""
    mlp = moe.Moe(MOE).train()
    with torch.no_grad():
        for p in mlp.parameters():
            p.normal_(std=0.1)
        mlp.router[3] += 0.1
    x = torch.randn(3, 24, 32) + 0.5
    mlp(x)
    assert mlp.load[3] > 0.42
    for _ in range(100):
        mlp(x)
        (gradient,) = torch.autograd.grad(mlp.auxiliary / moe.BALANCE, mlp.router)
        with torch.no_grad():
            mlp.router -= 0.1 * gradient
    mlp.eval()(x)
    assert mlp.load.max() < 0.32
    assert mlp.load.min() > 0.18


def test_recomputed_blocks_add_the_balance_once():
    parts = batch(MOE)
    loss, expected, _ = seeded(make(MOE, spread=0.1).train(), parts)
    again = make(MOE.but(activation_checkpointing=True), spread=0.1).train()
    loss_again, gradients_again, _ = seeded(again, parts)
    assert loss_again == loss
    assert_same(gradients_again, expected, 1e-6)
    assert all(block.mlp.auxiliary is None for block in again.h)


def test_every_expert_keeps_getting_text():
    """On real text from the first step: no expert is left without tokens or with few for long."""
    experiment = MOE.but(n_embd=64, seq_len=64, batch_size=4)
    ids = torch.tensor(list(TEXT))
    made = make(experiment).train()
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-3, fused=True)
    torch.manual_seed(0)
    loads = []
    for _ in range(60):
        starts = torch.randint(0, len(ids) - 65, (4,)).tolist()
        rows = torch.stack([ids[s : s + 65] for s in starts])
        optimizer.zero_grad()
        loss = made(rows[:, :-1].contiguous(), rows[:, 1:].contiguous())
        loss.backward()
        for name, p in made.named_parameters():
            assert p.grad.any(), name
        optimizer.step()
        loads.append(torch.stack([block.mlp.load for block in made.h]))
    assert loss.item() < 3.6
    assert torch.stack(loads).min() > 0
    assert torch.stack(loads[-20:]).mean(0).min() > 0.25 / 3
