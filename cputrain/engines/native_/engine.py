"""The engine of our own C: what `cputrain.engines.Engine` asks for, by the library's functions."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from cputrain import __version__
from cputrain.data.batches import IGNORE
from cputrain.engines import EngineError, Looked, copy_weights
from cputrain.engines.accumulating import Accumulating
from cputrain.engines.batch import check
from cputrain.engines.native_ import about, library_build
from cputrain.engines.native_.binding import LONG, AdamW, Functions, Sizes
from cputrain.engines.native_.products import Given
from cputrain.engines.native_.schema import NativeEvidence
from cputrain.engines.pass_clock import BACKWARD, FORWARD, OPTIMIZER
from cputrain.engines.rates import rate_at
from cputrain.experiment import Experiment
from cputrain.model.shapes import weight_shapes

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines import Weights


class NativeEngine(Accumulating):
    """See `cputrain.engines.Engine`. All arrays are the C library's.

    Args:
        experiment: the sizes, AdamW's settings, the compiler and its flags.
        weights: initial weights, copied.

    Attributes:
        library: the C library's functions.
        model: the address of its model.
        rate_at, before_update: the learning rate by an update's number; what runs before it.

    Raises:
        EngineError: the library cannot be built or loaded, lacks the activation, or there is no
            memory, or too little stack for a thread.
    """

    name = "native"

    def __init__(self, experiment: Experiment, weights: Weights) -> None:
        self._experiment = experiment
        self.rate_at: Callable[[int], float] = partial(rate_at, experiment.training)
        self.before_update: Callable[[], object] = lambda: None
        self.library = Functions(str(library_build.library(experiment)))
        about.require_stack(self.library)
        self._given = Given.of(experiment)
        model, training = experiment.model, experiment.training
        activation = self.library.constants.get(f"activation.{model.activation}")
        if activation is None:
            raise EngineError(f"activation = {model.activation!r}: the native engine has none")
        sizes = Sizes(
            *(model.n_layer, model.n_embd, model.n_head, model.d_head, model.hidden),
            *(model.vocab_size, model.tied, training.seq_len, training.batch_size, activation),
        )
        adamw = AdamW(training.beta1, training.beta2, training.eps, training.weight_decay)
        self.model = self.library.new(sizes, adamw, self._given.address if self._given else None)
        if not self.model:
            raise EngineError("the native engine: can't allocate memory for the model")
        self._free = weakref.finalize(self, self.library.free, self.model)
        self._flat, self._pending = {n: self.flat(n) for n in ("weights", "gradients")}, False
        self.load_weights(weights)

    def flat(self, name: str) -> ndarray:
        """One of the flat arrays, as the library holds it."""
        numbers = ctypes.c_float * self.library.size(self.model)
        return np.ctypeslib.as_array(numbers.from_address(getattr(self.library, name)(self.model)))

    def _tensors(self, name: str) -> dict[str, ndarray]:
        """Views of a flat array by tensor."""
        tensors, start, flat = {}, 0, self._flat[name]
        align = self.library.constants["align"]
        for tensor, shape in weight_shapes(self._experiment).items():
            count = math.prod(shape)
            tensors[tensor] = flat[start : start + count].reshape(shape)
            start += -(-count // align) * align
        if start != flat.size:
            raise EngineError(f"the native engine has {flat.size} numbers of weights, not {start}")
        return tensors

    def accumulate(self, batch: Batch, share: float) -> float:
        """Forward and backward; the gradients of several batches add up."""
        self.pass_clock.start()
        inputs, targets = self.checked(batch)
        loss = self._forward(inputs, targets, share)
        self.pass_clock.end(FORWARD)
        self.library.backward(self.model, inputs.ctypes.data, self._pending)
        self._pending = True
        self.pass_clock.end(BACKWARD)
        return loss

    def _forward(self, inputs: ndarray, targets: ndarray, share: float = 1.0) -> float:
        """The loss; not a number where no target counts."""
        counted = LONG()
        loss: float = self.library.forward(
            self.model, inputs.ctypes.data, targets.ctypes.data, IGNORE, share, counted
        )
        return loss if counted.value else math.nan

    def checked(self, batch: Batch) -> tuple[ndarray, ndarray]:
        """Inputs and targets as the library takes them.

        Raises:
            EngineError: another shape than the experiment's, or ids without a row.
        """
        check(self._experiment, batch)
        inputs, targets = (
            np.ascontiguousarray(array, np.int64) for array in (batch.inputs, batch.targets)
        )
        return inputs, targets

    def update(self) -> None:
        """AdamW on the sum, at the learning rate that grows linearly over the warm-up steps."""
        if not self._pending:
            raise EngineError("update without gradients: accumulate some before")
        self.pass_clock.start()
        self.before_update()
        self.library.update(self.model, self.rate_at(self.steps_done + 1))
        self._pending = False
        self.pass_clock.end(OPTIMIZER)

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def loss(self, batch: Batch) -> float:
        """The loss."""
        return self._forward(*self.checked(batch))

    def gradients(self, batch: Batch) -> dict[str, ndarray]:
        """Copies of the gradients."""
        kept = self._flat["gradients"].copy() if self._pending else None
        inputs, targets = self.checked(batch)
        self._forward(inputs, targets)
        self.library.backward(self.model, inputs.ctypes.data, 0)
        gradients = {name: array.copy() for name, array in self._tensors("gradients").items()}
        if kept is not None:
            self._flat["gradients"][...] = kept
        return gradients

    def weights(self) -> dict[str, ndarray]:
        """Copies of the weights."""
        return {name: array.copy() for name, array in self._tensors("weights").items()}

    def load_weights(self, weights: Weights) -> None:
        """Copy `weights` in place."""
        copy_weights(self._tensors("weights"), weights)

    @property
    def steps_done(self) -> int:
        """Updates that AdamW counted."""
        return int(self.library.steps(self.model))

    def state_bytes(self) -> int:
        """AdamW's two moments."""
        return int(self.library.state_bytes(self.model))

    def excused(self) -> dict[str, str]:
        """None: every weight moves."""
        return {}

    def versions(self) -> dict[str, str]:
        """This program's own, NumPy's, and the compiler's as it says itself in the library."""
        compiler = about.compiler(self.library)
        return {"native": __version__, "numpy": np.__version__, "cc_version": compiler}

    def readings(self) -> dict[str, Any]:
        """The built library, its OpenMP, the library that multiplies where one was chosen."""
        return about.readings(self.library, self._given)

    def evidence(self, batch: Batch) -> NativeEvidence:
        """What one forward and backward pass executed."""
        return self.looked(batch).evidence

    def looked(self, batch: Batch) -> Looked[NativeEvidence]:
        """The evidence and the gradients of its pass."""
        before = self._products()
        gradients = self.gradients(batch)
        own, by_library, calls = (
            after - old for after, old in zip(self._products(), before, strict=True)
        )
        counted = {"own": own}
        if self._given:
            counted[self._given.name] = by_library
        products = {name: count for name, count in counted.items() if count}
        evidence = NativeEvidence(products_by_library=products, library_calls=calls)
        return Looked(evidence, gradients)

    def _products(self) -> list[int]:
        counts = (LONG * 3)()
        self.library.products(self.model, counts)
        return list(counts)


def build(experiment: Experiment, weights: Weights) -> NativeEngine:
    """The engine of this experiment; see `cputrain.engines.build`."""
    return NativeEngine(experiment, weights)
