"""What proves a precision holds of it, and fails of any other and of what does not train."""

import numpy as np
import pytest
import torch
from made_model import batch, make
from made_precision import ROUNDED, arrays, failed, prepared, profiled, setting, step
from torch import nn

from cputrain.engines.torch_ import forward_difference, in_precision, precision
from cputrain.errors import DidNotTrain
from cputrain.experiment.parts import PRECISIONS
from cputrain.worker import gates


@pytest.mark.parametrize("name", PRECISIONS)
def test_it_is_in_force_and_no_other_is(name):
    """The proof holds of the precision asked for, and of no other one's model."""
    experiment = setting(name)
    made, parts = prepared(experiment), batch(experiment)
    before = arrays(made)
    profile = profiled(made, experiment, parts)
    results = in_precision.look(made, experiment, profile, parts[0])
    assert not failed(results), results
    assert all(np.array_equal(before[n], array) for n, array in arrays(made).items())
    assert made.training
    for other in PRECISIONS:
        if other != name:
            counts = in_precision.counted(made, profile)
            difference = forward_difference.forward_difference(made, experiment, parts[0])
            claimed = experiment.but(precision=other)
            wrong = failed(in_precision.checks(claimed, counts))
            assert wrong or not forward_difference.check(claimed, difference).ok, other


@pytest.mark.parametrize("name", PRECISIONS)
def test_after_looking_it_trains_as_before(name):
    experiment = setting(name)
    looked_at, other, parts = prepared(experiment), prepared(experiment), batch(experiment)
    forward_difference.forward_difference(looked_at, experiment, parts[0])
    assert step(looked_at, experiment, parts) == step(other, experiment, parts)
    for a, b in zip(looked_at.parameters(), other.parameters(), strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(precision.to_numpy(a.grad), precision.to_numpy(b.grad))


def counted(experiment):
    """What a step of its model shows."""
    made = prepared(experiment)
    return in_precision.counted(made, profiled(made, experiment, batch(experiment)))


def products(counts, number):
    """The matrix products of numbers of this type: "int8", "fp32"."""
    named = [(name.split(), count) for name, count in counts.items()]
    return sum(
        count
        for (operator, *types), count in named
        if operator in in_precision.PRODUCTS and types == [number]
    )


def test_int8_in_the_profile_is_one_product_for_each_layer():
    """Those of the forward pass; the backward pass and the rest of the model stay in fp32."""
    rounded, plain = counted(setting("q8")), counted(setting("fp32"))
    assert products(rounded, "int8") == rounded["quantized layers"] == 2 * 4
    assert products(plain, "int8") == plain["quantized layers"] == 0
    assert products(rounded, "fp32") == products(plain, "fp32") - 2 * 4


@pytest.mark.parametrize("name", ROUNDED)
def test_a_product_or_rounding_too_few_is_caught(name):
    experiment = setting(name)
    counts = counted(experiment)
    *_, operation = in_precision.checks(experiment, counts)
    assert operation.ok
    least = int(operation.expected.split()[0])
    few = counts | {operation.name: least - 1}
    assert failed(in_precision.checks(experiment, few)) == {operation.name}


def test_torchaos_int8_without_module_swap_is_caught():
    """It trains, in plain fp32."""
    pytest.importorskip("torchao")
    from torchao.prototype.quantized_training import int8_mixed_precision_training
    from torchao.quantization import quantize_

    experiment = setting("q8_torchao")
    made, parts = make(experiment), batch(experiment)
    wrong = int8_mixed_precision_training(module_swap=False)
    quantize_(made.h, wrong, filter_fn=lambda layer, _: isinstance(layer, nn.Linear))
    results = in_precision.look(made, experiment, profiled(made, experiment, parts), parts[0])
    *_, int8_products = in_precision.checks(experiment, counted(experiment))
    assert {"types of matrix products", int8_products.name} <= failed(results)
    assert "difference of the forward pass from fp32" in failed(results)


@pytest.mark.filterwarnings("ignore")
def test_dynamic_quantization_which_does_not_train_is_caught():
    """The loss falls all the same: the embeddings learn around the layers."""
    experiment = setting("q8", n_layer=1)
    made, parts = make(experiment.but(precision="fp32")), batch(experiment, ignored=0)
    start = arrays(made)
    torch.ao.quantization.quantize_dynamic(made, {nn.Linear}, inplace=True)
    optimizer = torch.optim.AdamW(made.parameters(), lr=0.01)
    losses = []
    for _ in range(30):
        losses.append(step(made, experiment, parts))
        optimizer.step()
        optimizer.zero_grad()
    assert losses[-1] < losses[0]
    assert "h.0.mlp.fc.weight" not in arrays(made)
    with pytest.raises(DidNotTrain, match=r"is gone|has not moved"):
        gates.moved(start, arrays(made))
    checks = in_precision.checks(
        experiment, in_precision.counted(made, profiled(made, experiment, parts))
    )
    assert {"quantized layers", "types of matrix products"} <= failed(checks)


@pytest.mark.parametrize("name", ["bf16", "q8", "q4"])
def test_the_difference_is_that_of_two_models(name):
    """Against a second model in fp32 with the weights of the first."""
    experiment = setting(name, n_layer=1)
    made, parts = prepared(experiment), batch(experiment)
    plain = make(experiment.but(precision="fp32"))
    for n, parameter in plain.named_parameters():
        precision.load(parameter, arrays(made)[n])
    taken = []
    for model in (made, plain):
        model.h[0].attn.qkv.register_forward_hook(lambda _, __, y: taken.append(y.detach().float()))
        model.hidden(parts[0])
    expected = (taken[0] - taken[1]).norm() / taken[1].norm()
    difference = forward_difference.forward_difference(made, experiment, parts[0])
    assert difference == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("name", ["mixed", "q8"])
def test_it_is_in_force_where_compiled_and_looking_does_not_compile_again(name):
    experiment = setting(name, n_layer=1, compile="aot_eager")
    made, parts = prepared(experiment), batch(experiment)
    compiled = torch.compile(made, backend="aot_eager", fullgraph=True, dynamic=False)
    eager, loss = step(made, experiment, parts), step(compiled, experiment, parts)
    assert loss == pytest.approx(eager, rel=1e-5)
    with torch.compiler.set_stance("fail_on_recompile"):
        for _ in range(2):
            profile = profiled(compiled, experiment, parts)
            results = in_precision.look(made, experiment, profile, parts[0])
            assert not failed(results), results
