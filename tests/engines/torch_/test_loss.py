"""The loss by chunks of rows equals the whole one, and never has the whole logits."""

import pytest
from made_model import BERT, NODES, assert_same, batch, gradients, make
from settled import SMALL

from cputrain.data.batches import IGNORE
from cputrain.engines.torch_.loss import cross_entropy

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

ROWS = 3 * 24
MODELS = {"tied": {}, "untied": {"tied": False}, "bert": BERT, "two heads": NODES}


@pytest.mark.parametrize("chunk", [1, 7, 24, 71, 72])
@pytest.mark.parametrize("name", MODELS)
def test_chunks_give_the_whole_loss_and_gradients(name, chunk):
    whole = SMALL.but(**MODELS[name])
    parts = batch(whole)
    loss, expected = gradients(make(whole, spread=0.1), parts)
    chunked_loss, chunked = gradients(make(whole.but(loss_chunk=chunk), spread=0.1), parts)
    assert chunked_loss == pytest.approx(loss, rel=1e-6)
    assert_same(chunked, expected)


def arguments(bias=True, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(  # noqa: E731
        *shape, generator=generator, dtype=dtype, requires_grad=True
    )
    targets = torch.randint(0, 29, (3, 24), generator=generator)
    return draw(3, 24, 8), draw(29, 8), draw(29) if bias else None, targets


@pytest.mark.parametrize("bias", [True, False])
def test_gradients_of_chunks_are_slopes(bias):
    """Also where the whole loss is only a share of what is differentiated."""
    x, weight, offset, targets = arguments(bias)
    targets[0, :20] = IGNORE
    loss = cross_entropy(x, weight, offset, targets, 10)
    (0.25 * loss).backward()
    for tensor in (x, weight, *([offset] if bias else [])):
        direction = torch.randn_like(tensor)
        with torch.no_grad():
            ends = []
            for step in (1e-2, -1e-2):  # the loss is summed in float32
                tensor += step * direction
                ends.append(cross_entropy(x, weight, offset, targets, 10).item())
                tensor -= step * direction
        slope = (ends[0] - ends[1]) / 2e-2
        actual = 4 * (tensor.grad * direction).sum().item()
        assert actual == pytest.approx(slope, rel=2e-3, abs=1e-4)


def test_chunks_without_a_target_add_nothing():
    x, weight, bias, targets = arguments(dtype=torch.float32)
    targets.view(-1)[8:16] = IGNORE  # the second of the chunks of eight
    loss = cross_entropy(x, weight, bias, targets, 8)
    loss.backward()
    assert (x.grad.view(-1, 8)[8:16] == 0).all()
    before = [t.grad.clone() for t in (x, weight, bias)]
    for tensor in (x, weight, bias):
        tensor.grad = None
    whole = cross_entropy(x, weight, bias, targets)
    whole.backward()
    assert loss.item() == pytest.approx(whole.item(), rel=1e-6)
    for tensor, gradient in zip((x, weight, bias), before, strict=True):
        assert torch.allclose(tensor.grad, gradient, atol=1e-7)


@pytest.mark.parametrize("chunk", [None, 10])
def test_a_batch_without_a_target_has_no_loss(chunk):
    x, weight, bias, targets = arguments(dtype=torch.float32)
    loss = cross_entropy(x, weight, bias, torch.full_like(targets, IGNORE), chunk)
    loss.backward()
    assert loss.isnan()
    assert all((tensor.grad == 0).all() for tensor in (x, weight, bias))


def test_frozen_tensors_cost_no_gradient():
    x, weight, bias, targets = arguments(dtype=torch.float32)
    for kept in (x, weight, bias):
        for tensor in (x, weight, bias):
            tensor.requires_grad_(tensor is kept)
            tensor.grad = None
        cross_entropy(x, weight, bias, targets, 10).backward()
        gradient = kept.grad.clone()
        kept.grad = None
        cross_entropy(x, weight, bias, targets).backward()
        assert torch.allclose(kept.grad, gradient, atol=1e-7)
        assert sum(tensor.grad is not None for tensor in (x, weight, bias)) == 1


def test_no_second_pass_over_gradients_that_were_scaled_in_place():
    x, weight, bias, targets = arguments(dtype=torch.float32)
    loss = cross_entropy(x, weight, bias, targets, 10)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError):
        loss.backward()


class Sizes(TorchDispatchMode):
    """Elements of the largest tensor that an operator made, and the matrix products."""

    def __init__(self):
        super().__init__()
        self.largest, self.products = 0, 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        made = operator(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(tensor, torch.Tensor):
                self.largest = max(self.largest, tensor.numel())
        self.products += operator.overloadpacket.__name__ in ("mm", "addmm", "addmm_", "bmm")
        return made


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("chunk", [None, 10])
def test_the_whole_logits_never_exist(chunk, autocast):
    vocab = 40_000
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 24, 8, generator=generator, requires_grad=True)
    weight = torch.randn(vocab, 8, generator=generator, requires_grad=True)
    targets = torch.randint(0, vocab, (3, 24), generator=generator)
    with Sizes() as sizes:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = cross_entropy(x, weight, None, targets, chunk)
        loss.backward()
    assert sizes.largest == (10 if chunk else ROWS) * vocab
    assert sizes.products == 3 * (8 if chunk else 1)  # and none is computed again
    with torch.no_grad(), Sizes() as sizes:
        cross_entropy(x, weight, None, targets, chunk)
    assert sizes.largest == (10 if chunk else ROWS) * vocab
    assert sizes.products == (8 if chunk else 1)


@pytest.mark.parametrize("how", ["autocast", "weights"])
def test_bf16(how):
    """Products in bf16, softmax and sums over chunks in fp32: as near the truth as whole."""
    exact = [a if a is None else a.detach() for a in arguments(dtype=torch.float32)]
    kept = torch.bfloat16 if how == "weights" else torch.float32
    grads = {}
    for chunk in ("exact", None, 10):
        dtype = torch.float32 if chunk == "exact" else kept
        x, weight, bias = (t.to(torch.bfloat16).to(dtype).requires_grad_() for t in exact[:3])
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype != kept or how == "autocast"):
            if chunk == "exact":
                with torch.autocast("cpu", enabled=False):
                    loss = cross_entropy(x, weight, bias, exact[3])
            else:
                loss = cross_entropy(x, weight, bias, exact[3], chunk)
        loss.backward()
        assert loss.dtype == torch.float32
        assert weight.grad.dtype == dtype
        grads[chunk] = (loss.item(), x.grad.float(), weight.grad.float(), bias.grad.float())
    truth = grads.pop("exact")
    for loss, *rounded in grads.values():
        assert loss == pytest.approx(truth[0], rel=5e-3)
        for gradient, expected in zip(rounded, truth[1:], strict=True):
            assert (gradient - expected).abs().max() < 0.02 * expected.abs().max()
