"""The GPT decoder by hand in NumPy: forward and backward pass."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from cputrain.data.batches import IGNORE
from cputrain.engines.batch import check
from cputrain.engines.numpy_ import ops
from cputrain.engines.numpy_.activations import Activation
from cputrain.engines.numpy_.attention import Attention
from cputrain.experiment import Experiment
from cputrain.model.shapes import weight_shapes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from cputrain.data.batches import Batch
    from cputrain.engines.numpy_.products import Multiply

ALIGN = 16
"""Elements to which each tensor starts aligned in its flat array."""


class NumpyGpt:
    """Weights, gradients and working arrays of one model.

    Args:
        experiment: the sizes.
        dtype: of all arrays.
        multiply: np.matmul, or what stands in for it.

    Raises:
        EngineError: an activation that this engine does not have.

    Attributes:
        weights, gradients: arrays by name, views of the flat ones.
        flat_weights, flat_gradients: all tensors one after the other, gaps filled with 0.
    """

    def __init__(
        self, experiment: Experiment, dtype: DTypeLike, multiply: Multiply = np.matmul
    ) -> None:
        self._multiply = multiply
        self._experiment = experiment
        self._model, training = experiment.model, experiment.training
        self._batch, self._length = training.batch_size, training.seq_len
        self._dtype = np.dtype(dtype)
        shapes = weight_shapes(experiment)
        sizes = [-(-math.prod(shape) // ALIGN) * ALIGN for shape in shapes.values()]
        starts = np.cumsum([0, *sizes])

        def views(flat: ndarray) -> dict[str, ndarray]:
            return {
                name: flat[start : start + math.prod(shape)].reshape(shape)
                for (name, shape), start in zip(shapes.items(), starts[:-1], strict=True)
            }

        self.flat_weights = np.zeros(sum(sizes), self._dtype)
        self.flat_gradients = np.zeros_like(self.flat_weights)
        self.weights, self.gradients = views(self.flat_weights), views(self.flat_gradients)
        self._arrays: dict[str, ndarray] = {}
        model, rows = self._model, self._batch * self._length
        self._head = "wte" if model.tied else "head.weight"
        self._heads = Attention(experiment, self._dtype, multiply)
        self._activations = [
            Activation(model.activation, rows, model.hidden, self._dtype)
            for _ in range(model.n_layer)
        ]

    def forward(self, batch: Batch) -> float:
        """The loss; leaves in the working arrays what the backward pass needs."""
        check(self._experiment, batch)
        shape, width = (self._batch, self._length), self._model.n_embd
        rows = self._batch * self._length
        x = self._array("x", rows, width)
        np.take(self.weights["wte"], batch.inputs.reshape(-1), axis=0, out=x, mode="clip")
        by_sequence = x.reshape(*shape, width)
        by_sequence += self.weights["wpe"]
        branch = self._array("branch", rows, width)
        for i, activation in enumerate(self._activations):
            x += self._attention(self._norm(x, f"h.{i}.ln_1"), f"h.{i}.attn")
            before = self._array("before", rows, len(self.weights[f"h.{i}.mlp.fc.bias"]))
            self._linear(self._norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.fc", before)
            x += self._linear(activation.forward(before), f"h.{i}.mlp.proj", branch)
        logits = self._array("logits", rows, self._model.vocab_size)
        self._multiply(self._norm(x, "ln_f"), self.weights[self._head].T, out=logits)
        return ops.cross_entropy(logits, batch.targets.reshape(-1), IGNORE)

    def backward(self, batch: Batch) -> None:
        """All gradients, from what the forward pass left."""
        dlogits = self._arrays["logits"]
        rows, width = self._arrays["x"].shape
        self._multiply(dlogits.T, self._arrays["ln_f.y"], out=self.gradients[self._head])
        dx = self._multiply(dlogits, self.weights[self._head], out=self._array("d.x", rows, width))
        self._norm_backward(dx, "ln_f")
        branch, before = self._arrays["branch"], self._arrays["before"]
        gated = before.shape[1] != self._model.hidden
        dafter = self._array("d.after", rows, self._model.hidden) if gated else before
        for i, activation in reversed(list(enumerate(self._activations))):
            mlp = f"h.{i}.mlp"
            self._linear_backward(dx, activation.after, f"{mlp}.proj", dafter)
            activation.backward(dafter, before)
            self._linear_backward(before, self._arrays[f"h.{i}.ln_2.y"], f"{mlp}.fc", branch)
            dx += self._norm_backward(branch, f"h.{i}.ln_2")
            inner = self._arrays[f"h.{i}.ln_1.y"]
            self._attention_backward(dx, inner, f"h.{i}.attn", branch)
            dx += self._norm_backward(branch, f"h.{i}.ln_1")
        np.sum(dx.reshape(self._batch, self._length, width), axis=0, out=self.gradients["wpe"])
        if not self._model.tied:
            self.gradients["wte"][...] = 0
        ops.add_rows(self.gradients["wte"], batch.inputs.reshape(-1), dx)

    def _array(self, name: str, *shape: int) -> ndarray:
        """A working array that is kept from step to step."""
        if name not in self._arrays:
            self._arrays[name] = np.empty(shape, self._dtype)
        return self._arrays[name]

    def _linear(self, x: ndarray, layer: str, out: ndarray) -> ndarray:
        """out = x @ weight.T + bias."""
        self._multiply(x, self.weights[f"{layer}.weight"].T, out=out)
        out += self.weights[f"{layer}.bias"]
        return out

    def _linear_backward(self, dy: ndarray, x: ndarray, layer: str, dx: ndarray) -> ndarray:
        """Write the gradients of the layer and of its input x."""
        self._multiply(dy.T, x, out=self.gradients[f"{layer}.weight"])
        np.sum(dy, axis=0, out=self.gradients[f"{layer}.bias"])
        return self._multiply(dy, self.weights[f"{layer}.weight"], out=dx)

    def _norm(self, x: ndarray, layer: str) -> ndarray:
        """Layer norm; keeps what its backward pass needs."""
        rows, width = x.shape
        y, normed = self._array(f"{layer}.y", rows, width), self._array(f"{layer}.n", rows, width)
        weight, bias = self.weights[f"{layer}.weight"], self.weights[f"{layer}.bias"]
        ops.layer_norm(x, weight, bias, y, normed, self._array(f"{layer}.scale", rows, 1))
        return y

    def _norm_backward(self, dy: ndarray, layer: str) -> ndarray:
        """Turn dy into dx in place and write the gradients of the layer."""
        normed, scale = self._arrays[f"{layer}.n"], self._arrays[f"{layer}.scale"]
        gradients = self.gradients[f"{layer}.weight"], self.gradients[f"{layer}.bias"]
        ops.layer_norm_backward(dy, self.weights[f"{layer}.weight"], normed, scale, *gradients)
        return dy

    def _attention(self, x: ndarray, layer: str) -> ndarray:
        """Causal self-attention of [rows, width]."""
        rows, width = x.shape
        channels, inner = self.weights[f"{layer}.qkv.bias"], self.weights[f"{layer}.proj.weight"]
        qkv = self._array(f"{layer}.qkv", rows, len(channels))
        y = self._array(f"{layer}.y", rows, inner.shape[1])
        self._linear(x, f"{layer}.qkv", qkv)
        self._heads.forward(qkv, self._array(f"{layer}.p", *self._heads.scores_shape), y)
        return self._linear(y, f"{layer}.proj", self._array("branch", rows, width))

    def _attention_backward(self, dy: ndarray, x: ndarray, layer: str, dx: ndarray) -> ndarray:
        """The gradient of x, the attention's input, into dx."""
        qkv, p, y = (self._arrays[f"{layer}.{name}"] for name in ("qkv", "p", "y"))
        flat = self._linear_backward(dy, y, f"{layer}.proj", self._array("d.y", *y.shape))
        dqkv = self._array("d.qkv", *qkv.shape)
        self._heads.backward(flat, y, qkv, p, self._array("d.p", *p.shape), dqkv)
        return self._linear_backward(dqkv, x, f"{layer}.qkv", dx)
