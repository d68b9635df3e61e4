"""Which library executes IPEX's layers, and that a setting not in force is seen."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("intel_extension_for_pytorch")

from made_ipex import KERNELS, SMALL, built

from cputrain.engines import executed
from cputrain.engines.ipex_ import packing
from cputrain.knobs.inforce import NotInForce, require
from cputrain.model.shapes import weight_shapes

pytestmark = pytest.mark.ipex

bf16 = pytest.mark.skipif(
    not packing.core.onednn_has_bf16_support(), reason="IPEX has no bf16 products here"
)


CHANGES = {
    "plain": {},
    "oneDNN": {"auto_kernel_selection": True},
    "checkpointed": {"activation_checkpointing": True, "auto_kernel_selection": True},
    "manual": {"attention_backend": "manual", "auto_kernel_selection": True},
    "dropout": {"attention_backend": "manual", "dropout": 0.1},
    "foreach": {"optimizer_kernel": "foreach", "auto_kernel_selection": True},
    "default": {"optimizer_kernel": "default"},
    "untied, in chunks": {"tied": False, "loss_chunk": 16, "auto_kernel_selection": True},
}


@pytest.mark.parametrize("changes", CHANGES)
def test_what_was_asked_was_executed(changes, batch_of):
    experiment = SMALL.but(**CHANGES[changes])
    engine = built(experiment)
    before = engine.weights()
    require(executed.checks(experiment, engine.evidence(batch_of(experiment))))
    assert all(np.array_equal(array, before[name]) for name, array in engine.weights().items())
    assert engine.versions()["ipex"].startswith("2.8")
    assert engine.readings()["ipex"]["auto_kernel_selection"] == (
        experiment.runtime.auto_kernel_selection
    )


@bf16
@pytest.mark.parametrize("kernels", KERNELS)
def test_bf16_is_oneDNN_s_either_way_and_learns(kernels, batch_of):
    experiment = SMALL.but(precision="bf16", auto_kernel_selection=KERNELS[kernels])
    engine = built(experiment)
    batch = batch_of(experiment)
    evidence = engine.evidence(batch)
    require(executed.checks(experiment, evidence))
    assert evidence.ipex.packed == 4 * experiment.model.n_layer
    assert {str(parameter.dtype) for parameter in engine._parameters.values()} == {"torch.bfloat16"}
    start = engine.loss(batch)
    for _ in range(40):
        engine.train_step(batch)
    assert engine.loss(batch) < start - 0.3
    sizes = sum(np.prod(shape) for shape in weight_shapes(experiment).values())
    assert 2 * 2 * sizes <= engine.state_bytes() < 2 * 2 * 1.5 * sizes  # two moments of bf16


LIES = {
    "asked for oneDNN, ran plain": ({}, {"auto_kernel_selection": True}, "auto_kernel_selection"),
    "asked for plain, ran oneDNN": ({"auto_kernel_selection": True}, {}, "auto_kernel_selection"),
    "other optimizer": ({}, {"optimizer_kernel": "default"}, "optimizer kernel"),
    "not again": (
        {"auto_kernel_selection": True},
        {"auto_kernel_selection": True, "activation_checkpointing": True},
        "forward passes of each block",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_setting_that_is_not_in_force_is_named(lie, batch_of):
    ran, claimed, named = LIES[lie]
    evidence = built(SMALL, **ran).evidence(batch_of(SMALL))
    require(executed.checks(SMALL.but(**ran), evidence))
    with pytest.raises(NotInForce, match=named):
        require(executed.checks(SMALL.but(**claimed), evidence))


def test_a_layer_that_was_left_plain_is_seen(batch_of):
    """What IPEX says is not believed: the layers' passes are counted in the profile."""
    experiment = SMALL.but(auto_kernel_selection=True)
    plain = built(SMALL)
    engine = built(experiment)
    engine._model.h[1].mlp.fc = plain._model.h[1].mlp.fc
    with pytest.raises(NotInForce, match="passes of packed layers: asked for 8, found 7"):
        require(executed.checks(experiment, engine.evidence(batch_of(experiment))))


def test_rounding_fp32_products_to_bf16_is_seen(batch_of):
    import intel_extension_for_pytorch as ipex

    experiment = SMALL.but(auto_kernel_selection=True)
    engine = built(experiment)
    ipex.set_fp32_math_mode(ipex.FP32MathMode.BF32, device="cpu")
    try:
        with pytest.raises(NotInForce, match="rounding of fp32 products"):
            require(executed.checks(experiment, engine.evidence(batch_of(experiment))))
    finally:
        ipex.set_fp32_math_mode(ipex.FP32MathMode.FP32, device="cpu")
