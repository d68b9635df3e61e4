"""The mixture of experts against a dense loop over tokens, and its load."""

import pytest

torch = pytest.importorskip("torch")

import block_checks  # noqa: E402
from made_model import make  # noqa: E402
from settled import SMALL  # noqa: E402

from cputrain.experiment import ExperimentError  # noqa: E402

MOE = SMALL.but(architecture="moe")


def mlp_of(experiment):
    return make(experiment, spread=0.3).double().h[0].mlp.eval()


def expert(mlp, i, x):
    p = dict(mlp.experts[i].named_parameters())
    hidden = x @ p["fc.weight"].T + p["fc.bias"]
    if mlp.experts[i].gated:
        values, gates = hidden[: len(hidden) // 2], hidden[len(hidden) // 2 :]
        hidden = values * gates / (1 + torch.exp(-gates))
    else:
        hidden = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
    return hidden @ p["proj.weight"].T + p["proj.bias"]


def dense(mlp, x):
    """Each token by itself through all experts; those that are not its best two weigh 0."""
    outputs = []
    for token in x.flatten(0, 1):
        scores = (mlp.router @ token).tolist()
        best = sorted(range(4), key=lambda i: -scores[i])[:2]
        powers = {i: torch.exp(mlp.router[i] @ token) for i in best}
        shares = [powers.get(i, torch.zeros(())) / sum(powers.values()) for i in range(4)]
        outputs.append(sum(shares[i] * expert(mlp, i, token) for i in range(4)))
    return torch.stack(outputs).view(x.shape)


@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
def test_values_and_gradients_equal_a_dense_loop(activation):
    experiment = MOE.but(activation=activation, n_embd=48)
    mlp, x = mlp_of(experiment), torch.randn(3, 24, 48, dtype=torch.float64, requires_grad=True)
    block_checks.equals(mlp, dense, x)


def test_an_expert_computes_its_own_tokens_and_no_others():
    mlp, seen = mlp_of(MOE), {}
    for i, expert in enumerate(mlp.experts):
        expert.fc.register_forward_hook(
            lambda _, given, __, i=i: seen.update({i: given[0].reshape(-1, 32)})
        )
    x = torch.randn(3, 24, 32, dtype=torch.float64)
    mlp(x)
    tokens = x.flatten(0, 1)
    chosen = (tokens @ mlp.router.T).topk(2, dim=1).indices
    for i in range(4):
        assert torch.equal(seen[i], tokens[(chosen == i).any(dim=1)])
    assert sum(len(rows) for rows in seen.values()) == 2 * len(tokens)


def test_the_load_is_each_experts_share():
    mlp = mlp_of(MOE)
    x = torch.randn(3, 24, 32, dtype=torch.float64)
    mlp(x)
    chosen = (x.flatten(0, 1) @ mlp.router.T).topk(2, dim=1).indices.flatten().tolist()
    assert mlp.load.tolist() == pytest.approx([chosen.count(i) / len(chosen) for i in range(4)])
    assert not mlp.load.requires_grad


@pytest.mark.parametrize("precision", ["fp32", "q8", "q4", "bitnet"])
def test_an_expert_without_tokens_has_a_gradient_of_zeros(precision):
    mlp = make(MOE.but(precision=precision, n_embd=32), spread=0.3).h[0].mlp.eval()
    with torch.no_grad():
        mlp.router.zero_()
        mlp.router[1:3, 0] = 1.0
    x = torch.randn(3, 24, 32)
    x[..., 0] = 5.0
    mlp(x).sum().backward()
    assert mlp.load.tolist() == [0, 0.5, 0.5, 0]
    for name, p in mlp.experts.named_parameters():
        assert p.grad is not None, name
        assert bool(p.grad.any()) == (name[0] in "12"), name


def test_names_and_shapes():
    block_checks.names_and_shapes(MOE)
    block_checks.names_and_shapes(MOE.but(activation="swiglu", n_embd=48))


@pytest.mark.parametrize("backend", ["sdpa", "manual"])
def test_it_sees_nothing_later(backend):
    block_checks.sees_nothing_later(MOE.but(attention_backend=backend), at=9)


def test_it_learns_by_heart():
    block_checks.learns_by_heart(MOE)


def test_low_precision():
    block_checks.agrees_in_low_precision(MOE, share=0.3)  # near ties go to another expert


@pytest.mark.parametrize("precision", ["q8", "q4", "bitnet"])
def test_its_layers_take_every_precision(precision):
    block_checks.learns_by_heart(MOE.but(precision=precision, n_embd=32))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"compile": "inductor"}, ["compile = 'inductor'", "moe"]),
        ({"mlp_ratio": 1, "n_embd": 34}, ["n_embd = 34", "4 experts"]),
    ],
)
def test_what_it_cannot_take_is_refused(changes, named):
    with pytest.raises(ExperimentError) as caught:
        MOE.but(**changes)
    assert all(word in str(caught.value) for word in named)
