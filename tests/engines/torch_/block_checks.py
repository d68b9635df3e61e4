"""What every architecture's model has to do, whatever is inside its blocks."""

import torch
from made_model import batch, make

from cputrain.model import shapes


def names_and_shapes(experiment):
    """The model has the tensors of model.shapes, in any order."""
    weight_shapes = {name: tuple(p.shape) for name, p in make(experiment).named_parameters()}
    assert weight_shapes == shapes.weight_shapes(experiment)


def equals(block, by_hand, x):
    """The block gives what `by_hand` gives, from x in double precision; its gradients too."""
    weight = torch.randn_like(x)
    results = []
    for function in (block, lambda x: by_hand(block, x)):
        y = function(x)
        results.append([y, *torch.autograd.grad((y * weight).sum(), [x, *block.parameters()])])
    for actual, expected in zip(*results, strict=True):
        assert (actual - expected).abs().max() < 1e-9 * max(1, expected.abs().max())


def sees_nothing_later(experiment, at):
    """Changing the token at `at` changes hidden states from there on, and only these."""
    made, (inputs, _) = make(experiment, spread=0.05).eval(), batch(experiment)
    changed = inputs.clone()
    changed[:, at] = (changed[:, at] + 1) % 257
    with torch.no_grad():
        apart = (made.hidden(inputs) - made.hidden(changed)).abs().amax(dim=(0, 2))
    assert apart[:at].max() < 1e-6
    assert (apart[at:] > 1e-6).all()


def learns_by_heart(experiment, steps=20):
    """The loss of one batch is halved, by finite gradients; in some step each weight has one."""
    experiment = experiment.but(seq_len=16, batch_size=2)
    made, parts = make(experiment).train(), batch(experiment, ignored=0)
    optimizer = torch.optim.AdamW(made.parameters(), lr=0.01, fused=True)
    losses, reached = [], set()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = made(*parts)
        loss.backward()
        for name, p in made.named_parameters():
            assert p.grad is not None and torch.isfinite(p.grad).all(), name
            if p.grad.any():
                reached.add(name)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0], losses
    assert reached == set(dict(made.named_parameters()))


def agrees_in_low_precision(experiment, share=0.03):
    """bf16 weights and autocast give the fp32 hidden states but for rounding, and gradients."""
    parts = batch(experiment)
    exact = make(experiment, spread=0.05).eval()
    expected = exact.hidden(parts[0])
    for how in ("bf16", "mixed"):
        made = make(experiment, spread=0.05).eval()
        if how == "bf16":
            made = made.to(torch.bfloat16)
        with torch.autocast("cpu", torch.bfloat16, enabled=how == "mixed"):
            actual = made.hidden(parts[0])
            loss = made.train()(*parts)
        assert made.h[0](expected.to(made.wte.dtype)).dtype == made.wte.dtype
        away = (actual.float() - expected).norm() / expected.norm()
        assert 1e-5 < away < share, (how, away)
        loss.backward()
        for name, p in made.named_parameters():
            assert p.grad is not None and torch.isfinite(p.grad).all(), (how, name)
