"""Forward and backward passes of a model, compiled or not, in its precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cputrain.engines.batch import check_shape
from cputrain.engines.pass_clock import BACKWARD, FORWARD, PassClock
from cputrain.engines.torch_ import hits, precision
from cputrain.engines.torch_.evidence import in_backward, keep_random
from cputrain.experiment import Experiment

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines.accuracy import Hits
    from cputrain.engines.torch_.compile import Compilation


class TorchPasses:
    """What runs the model.

    Args:
        experiment: its shapes, precision and compiler.
        module: `LanguageModel`; it is put in training mode, or in evaluation mode for good if
            there is nothing to train.
        clock: read where a pass of a step ends.

    Attributes:
        trains: whether a step has a backward pass.
        compilation: None where the model runs eagerly.
        stepped: what an eager step calls: the module, or what wraps it; looks call the module.
    """

    def __init__(self, experiment: Experiment, module: Any, clock: PassClock) -> None:
        self._experiment, self._clock = experiment, clock
        self._module = module
        run = experiment.budget.micro_batches or experiment.training.grad_accum
        self._weighs = experiment.training.objective == "masked_node" and run > 1
        self.stepped: Callable[..., Tensor] = module
        self.trains = experiment.training.objective != "forward"
        module.train(self.trains)
        self.compilation: Compilation | None = None
        if experiment.runtime.compile != "eager":
            from cputrain.engines.torch_.compile import Compilation  # imports inductor

            self.compilation = Compilation(module, experiment.runtime, self.trains)

    def forward(
        self, batch: Batch, eagerly: bool = False, call: Callable[..., Tensor] | None = None
    ) -> Tensor:
        """The loss of a batch of the experiment's shape, by the compiled model if there is one.

        Args:
            batch: its arrays.
            eagerly: whatever is compiled.
            call: what is called eagerly in the module's place.

        Raises:
            EngineError: the batch has another shape, or compilation failed.
        """
        check_shape(self._experiment, batch)
        arrays = (batch.inputs, batch.targets, batch.relations, batch.node_targets)
        tensors = [None if array is None else torch.from_numpy(array) for array in arrays]
        compilation = None if eagerly else self.compilation
        # Compiled, a weight of 1 is given too where there are others: or that were another graph.
        if batch.node_weight != 1 or (compilation and self._weighs):
            tensors.append(torch.tensor(batch.node_weight))
        with precision.autocast(self._experiment):
            loss: Tensor
            if compilation is None:
                loss = (call or self._module)(*tensors)
                return loss
            try:
                loss = compilation.function(*tensors)
            except Exception as error:
                raise compilation.failure(error) from error
            return loss

    def backward(self, loss: Tensor, share: float = 1.0) -> float:
        """Add `share` of the gradients to those in the parameters; the loss."""
        with in_backward():
            try:
                (loss if share == 1 else loss * share).backward()
            except Exception as error:
                if not self.compilation:
                    raise
                raise self.compilation.failure(error) from error
        return float(loss.item())

    def step(self, batch: Batch, share: float = 1.0) -> float:
        """What a step does with one micro-batch: both passes, or forward alone. The loss."""
        self._clock.start()
        if not self.trains:
            with torch.no_grad():
                value = float(self.forward(batch).item())
            self._clock.end(FORWARD)
            return value
        loss = self.forward(batch, call=self.stepped)
        self._clock.end(FORWARD)
        value = self.backward(loss, share)
        self._clock.end(BACKWARD)
        return value

    def evaluate(self, batch: Batch) -> float:
        """The loss in evaluation mode, without dropout; the random numbers stay.

        Compiled without dropout, there is no difference, and the very graph that trains gives
        it: evaluation mode would be a second graph. Compiled with dropout, the model is
        evaluated eagerly, as it was before it was compiled.
        """
        same_graph = not (self.trains and self._experiment.model.dropout)
        if self.compilation and same_graph:
            with torch.set_grad_enabled(self.trains), keep_random():
                return float(self.forward(batch).item())
        with self._evaluating():
            return float(self.forward(batch, eagerly=True).item())

    def score(self, batch: Batch) -> tuple[float, Hits]:
        """The loss in evaluation mode, computed eagerly, and what the heads have right."""
        seen: dict[str, tuple[int, int]] = {}

        def look(*tensors: Any) -> Tensor:
            loss, counts = hits.look(self._module, *tensors)
            seen.update(counts)
            return loss

        with self._evaluating():
            return float(self.forward(batch, eagerly=True, call=look).item()), seen

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        with torch.no_grad(), keep_random():
            self._module.eval()
            try:
                yield
            finally:
                self._module.train(self.trains)
