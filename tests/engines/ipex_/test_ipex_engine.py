"""IPEX against NumPy and plain torch: the same work, in our names and layouts."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("intel_extension_for_pytorch")

from made_ipex import BASE, KERNELS, SHAPES, SMALL, built, reference  # noqa: E402

from cputrain import paths  # noqa: E402
from cputrain.data.batches import Batch  # noqa: E402
from cputrain.engines import EngineError  # noqa: E402
from cputrain.engines.ipex_ import packing  # noqa: E402
from cputrain.model import initial  # noqa: E402
from cputrain.model.shapes import weight_shapes  # noqa: E402

pytestmark = pytest.mark.ipex

bf16 = pytest.mark.skipif(
    not packing.core.onednn_has_bf16_support(), reason="IPEX has no bf16 products here"
)


def close(arrays, expected, most):
    assert arrays.keys() == expected.keys()
    for name, gradient in expected.items():
        assert arrays[name].shape == gradient.shape and arrays[name].dtype == np.float32
        largest = max(np.abs(gradient).max(), 1e-8)
        assert np.abs(arrays[name] - gradient).max() <= most * largest, name


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("attention", ["sdpa", "manual"])
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_and_losses_follow_numpy_s(shape, attention, kernels, batch_of):
    experiment = BASE.but(**SHAPES[shape])
    auto = KERNELS[kernels]
    mine = built(experiment, auto_kernel_selection=auto, attention_backend=attention)
    other = reference(experiment)
    batches = [
        batch_of(experiment, seed=i, ignored=min(5, experiment.training.seq_len - 1))
        for i in range(10)
    ]
    gradients = mine.gradients(batches[0])
    assert gradients.keys() == weight_shapes(experiment).keys()
    close(gradients, other.gradients(batches[0]), 1e-4)
    assert mine.loss(batches[0]) == pytest.approx(other.loss(batches[0]), rel=1e-5)
    for batch in batches:
        assert mine.train_step(batch) == pytest.approx(other.train_step(batch), rel=1e-3)
    assert mine.steps_done == other.steps_done == 10


TORCH_ALONE = """
import sys
import numpy as np
import psutil
from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.experiment import Experiment
from cputrain.model import initial

experiment = Experiment().but(n_layer=2, n_embd=64, n_head=2, seq_len=48, batch_size=2)
ids = np.random.default_rng(0).integers(0, 257, (2, 49))
batch = Batch(np.ascontiguousarray(ids[:, :-1]), np.ascontiguousarray(ids[:, 1:]))
engine = engines.build(experiment.but(engine=sys.argv[1]), initial.initial_weights(experiment))
assert ("intel_extension_for_pytorch" in sys.modules) == (sys.argv[1] == "ipex")
np.savez(sys.argv[2], **engine.gradients(batch))
assert psutil.Process().children(recursive=True) == []  # nobody computes beside it
"""


def test_fp32_gradients_without_selection_are_plain_torch_s_to_the_bit(tmp_path):
    """In processes of their own: IPEX replaces operators of torch as soon as it is imported."""
    kept = {}
    for engine in ("torch", "ipex"):
        path = tmp_path / f"{engine}.npz"
        command = [sys.executable, "-c", TORCH_ALONE, engine, str(path)]
        subprocess.run(command, check=True, capture_output=True, cwd=paths.PROJECT)
        kept[engine] = dict(np.load(path))
    assert kept["torch"].keys() == kept["ipex"].keys() and len(kept["torch"]) == 28
    for name, gradient in kept["torch"].items():
        assert np.array_equal(kept["ipex"][name], gradient), name


@pytest.mark.parametrize("kernels", KERNELS)
def test_a_later_token_leaves_earlier_ones_alone(kernels, batch_of):
    engine = built(SMALL, auto_kernel_selection=KERNELS[kernels])
    batch = batch_of(SMALL, ignored=0)
    changed = batch.inputs.copy()
    changed[:, 12] = (changed[:, 12] + 1) % SMALL.model.vocab_size
    with torch.no_grad():
        logits_before, logits_after = (
            engine._model.hidden(torch.from_numpy(inputs)) for inputs in (batch.inputs, changed)
        )
    assert torch.equal(logits_before[:, :12], logits_after[:, :12])
    assert all(not torch.equal(logits_before[:, at], logits_after[:, at]) for at in range(12, 24))


@pytest.mark.parametrize("changes", [{"auto_kernel_selection": True}, {"precision": "bf16"}])
def test_packed_weights_come_and_go_in_our_layout(changes, batch_of):
    if changes.get("precision") == "bf16" and not packing.core.onednn_has_bf16_support():
        pytest.skip("IPEX has no bf16 products here")
    experiment = BASE.but(**SHAPES["odd"])
    engine = built(experiment, **changes)
    start = initial.initial_weights(experiment)
    given = {name: array + np.float32(0.25) for name, array in start.items()}
    packed = engine._parameters["h.0.attn.qkv.weight"]
    assert packed.dim() > 2  # else nothing was packed, and this would show nothing
    engine.load_weights(given)
    weights = engine.weights()
    assert {name: array.shape for name, array in weights.items()} == weight_shapes(experiment)
    for name, array in given.items():
        rounded = torch.from_numpy(array).to(packed.dtype).float().numpy()
        assert np.array_equal(weights[name], rounded), name
    batch = batch_of(experiment)
    other = reference(experiment)
    other.load_weights(weights)
    tolerance = 2e-2 if "precision" in changes else 1e-5
    assert engine.loss(batch) == pytest.approx(other.loss(batch), rel=tolerance)


def test_weights_that_do_not_fit_are_refused():
    engine = built(SMALL, auto_kernel_selection=True)
    weights = engine.weights()
    weights["h.0.attn.qkv.weight"] = weights["h.0.attn.qkv.weight"].T
    with pytest.raises(EngineError, match=r"h\.0\.attn\.qkv\.weight"):
        engine.load_weights(weights)


@bf16
def test_bf16_gradients_are_near_numpy_s(batch_of):
    mine, other = built(SMALL, precision="bf16"), reference(SMALL)
    batch = batch_of(SMALL)
    expected = other.gradients(batch)
    for name, gradient in mine.gradients(batch).items():
        if name.endswith("qkv.bias"):
            continue  # k's part is 0 but for rounding
        apart = np.linalg.norm(gradient - expected[name]) / np.linalg.norm(expected[name])
        assert apart < 0.05, name


def test_a_batch_of_another_shape_is_refused():
    engine = built(SMALL)
    wrong = np.zeros((2, 24), np.int64)
    with pytest.raises(EngineError, match="batch of shape"):
        engine.train_step(Batch(wrong, wrong))
