"""NumPy: forward, backward and AdamW by hand. The reference that other engines are held to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from cputrain.engines import EngineError, Looked, copy_weights
from cputrain.engines.accumulating import Accumulating
from cputrain.engines.numpy_ import products
from cputrain.engines.numpy_.adamw import AdamW
from cputrain.engines.numpy_.gpt import NumpyGpt
from cputrain.engines.numpy_.schema import NumpyEvidence
from cputrain.engines.pass_clock import BACKWARD, FORWARD, OPTIMIZER
from cputrain.experiment import Experiment

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from cputrain.data.batches import Batch
    from cputrain.engines import Weights


class NumpyEngine(Accumulating):
    """See `cputrain.engines.Engine`. The rest than matrix products runs on one thread.

    Args:
        experiment: the sizes and AdamW's settings.
        weights: initial weights, copied.
        dtype: float64 is for checking gradients.
    """

    name = "numpy"

    def __init__(
        self, experiment: Experiment, weights: Weights, dtype: DTypeLike = np.float32
    ) -> None:
        self._multiply = products.of(experiment, dtype)
        self._gpt = NumpyGpt(experiment, dtype, self._multiply)
        self.load_weights(weights)
        self.optimizer = AdamW(self._gpt.flat_weights, experiment.training)
        self._sum: ndarray | None = None

    def accumulate(self, batch: Batch, share: float) -> float:
        """Forward and backward; the gradients of several batches add up."""
        self.pass_clock.start()
        loss = self._forward_backward(batch)
        gradients = self._gpt.flat_gradients
        if share != 1:
            gradients *= share
        if self._sum is None:
            self._sum = gradients
        else:
            self._sum += gradients
        self.pass_clock.end(BACKWARD)
        return loss

    def _forward_backward(self, batch: Batch) -> float:
        if self._sum is self._gpt.flat_gradients:  # not copied before it has to be
            self._sum = self._sum.copy()
        loss = self._gpt.forward(batch)
        self.pass_clock.end(FORWARD)
        self._gpt.backward(batch)
        return loss

    def update(self) -> None:
        """AdamW on the sum."""
        if self._sum is None:
            raise EngineError("update without gradients: accumulate some before")
        self.pass_clock.start()
        self.optimizer.step(self._sum)
        self._sum = None
        self.pass_clock.end(OPTIMIZER)

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def loss(self, batch: Batch) -> float:
        """The loss."""
        return self._gpt.forward(batch)

    def gradients(self, batch: Batch) -> dict[str, ndarray]:
        """Copies of the gradients."""
        self._forward_backward(batch)
        return {name: array.copy() for name, array in self._gpt.gradients.items()}

    def weights(self) -> dict[str, ndarray]:
        """Copies of the weights, float32."""
        return {name: array.astype(np.float32) for name, array in self._gpt.weights.items()}

    def load_weights(self, weights: Weights) -> None:
        """Copy `weights` in place."""
        copy_weights(self._gpt.weights, weights)

    @property
    def steps_done(self) -> int:
        """Updates that AdamW counted."""
        return self.optimizer.steps

    def state_bytes(self) -> int:
        """AdamW's two moments."""
        return self.optimizer.state_bytes

    def excused(self) -> dict[str, str]:
        """None: every weight moves."""
        return {}

    def versions(self) -> dict[str, str]:
        """NumPy."""
        return {"numpy": np.__version__}

    def readings(self) -> dict[str, Any]:
        """The thread pools of the loaded libraries, the one that multiplies, NumPy's SIMD."""
        from threadpoolctl import threadpool_info

        pools = threadpool_info()
        return {
            "threadpools": pools,
            "blas": products.described(self._multiply, pools),
            "simd": np.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
        }

    def evidence(self, batch: Batch) -> NumpyEvidence:
        """What one forward and backward pass executed."""
        if not isinstance(self._multiply, products.Products):
            return NumpyEvidence()  # what runs is what this file says
        with self._multiply.library.watched() as counted:
            self._forward_backward(batch)
        return NumpyEvidence(products_by_library=counted)

    def looked(self, batch: Batch) -> Looked[NumpyEvidence]:
        """The evidence alone."""
        return Looked(self.evidence(batch))


def build(experiment: Experiment, weights: Weights) -> NumpyEngine:
    """The engine of this experiment; see `cputrain.engines.build`."""
    return NumpyEngine(experiment, weights)
