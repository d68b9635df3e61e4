"""PyTorch: eager or compiled, in any precision, with the optimizer that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cputrain.engines import EngineError, Looked, check_weights
from cputrain.engines.accumulating import Accumulating
from cputrain.engines.pass_clock import OPTIMIZER
from cputrain.engines.torch_ import (
    activation_calls,
    by_library,
    in_precision,
    optimizers,
    precision,
    product_work,
    readings,
)
from cputrain.engines.torch_.assemble import assemble
from cputrain.engines.torch_.evidence import (
    block_runs,
    expert_load,
    given,
    keep_random,
    operators,
    optimizer_kernel,
    optimizer_name,
    products_again,
    profiled,
    ran,
)
from cputrain.engines.torch_.gradients import Gradients
from cputrain.engines.torch_.passes import TorchPasses
from cputrain.engines.torch_.schema import (
    Compiled,
    OptimizerState,
    PrecisionCheck,
    TorchEvidence,
)
from cputrain.experiment import Experiment
from cputrain.model.bf16 import excused
from cputrain.model.shapes import trained

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines import Weights
    from cputrain.engines.accuracy import Hits


class TorchEngine(Accumulating):
    """See `cputrain.engines.Engine`. Threads are those that the environment gave torch.

    The first step compiles, where that was asked for.

    Dropout draws from torch's generator, which is seeded here. Looking (`loss`, `gradients`,
    `evidence`) puts the generator back, so a run is the same however often it is looked at.

    Attributes:
        steered_rate: the learning rate that a long run asked for; None where the experiment has it.
    """

    name = "torch"

    def __init__(self, experiment: Experiment, weights: Weights) -> None:
        torch.manual_seed(experiment.training.seed)
        self._experiment = experiment
        self._model: Any = assemble(experiment, weights)
        self._parameters = dict(self._model.named_parameters())
        self.trained = {name: self._parameters[name] for name in trained(experiment)}
        self._excused = excused(experiment, {n: weights[n] for n in self.trained})
        self._passes = TorchPasses(experiment, self._model, self.pass_clock)
        self.optimizer = self._make_optimizer() if self._passes.trains else None
        self._updates = self._passed = 0
        self.steered_rate: float | None = None

    def accumulate(self, batch: Batch, share: float) -> float:
        """Forward and backward; the gradients add up. With objective = "forward", forward."""
        loss = self._passes.step(batch, share)
        self._passed += 1
        return loss

    def update(self) -> None:
        """The optimizer's step, at the learning rate of its number; forward has none.

        Raises:
            EngineError: nothing was accumulated.
        """
        if self.optimizer is None:
            return
        if all(parameter.grad is None for parameter in self.trained.values()):
            raise EngineError("update without gradients: accumulate some before")
        self.pass_clock.start()
        self._updates += 1
        optimizers.set_rate(self.optimizer, self._experiment.training, self._updates)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.pass_clock.end(OPTIMIZER)

    def synchronize(self) -> None:
        """Nothing to wait for: on a CPU torch returns when the work is done."""

    def loss(self, batch: Batch) -> float:
        """The loss without dropout; see `Passes.evaluate`."""
        return self._passes.evaluate(batch)

    def score(self, batch: Batch) -> tuple[float, Hits]:
        """See `accuracy.Scores`; eagerly, also where the step is compiled."""
        return self._passes.score(batch)

    def gradients(self, batch: Batch) -> dict[str, np.ndarray]:
        """Gradients of what is trained, as the next step would have them."""
        with self._unchanged():
            eagerly = not self._passes.trains  # compiled, there is no backward pass
            self._passes.backward(self._passes.forward(batch, eagerly))
            return dict(self._gradients())

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the weights, float32 in every precision."""
        return {name: precision.to_numpy(p) for name, p in self._parameters.items()}

    def load_weights(self, weights: Weights) -> None:
        """Copy `weights` in place."""
        check_weights({n: tuple(p.shape) for n, p in self._parameters.items()}, weights)
        for name, parameter in self._parameters.items():
            precision.load(parameter, weights[name])

    @property
    def module(self) -> Any:
        """The eager model. Raises EngineError where a compiler has put its operators together."""
        if self._passes.compilation:
            raise EngineError("a compiled torch step has no operators that are of one part each")
        return self._model

    @property
    def steps_done(self) -> int:
        """The least of the counters of the trained tensors; forward counts its passes."""
        return self._passed if self.optimizer is None else optimizers.steps_done(self.optimizer)

    def state_bytes(self) -> int:
        """Bytes of the optimizer's state; 0 before its first step."""
        return 0 if self.optimizer is None else optimizers.state_bytes(self.optimizer)

    def excused(self) -> dict[str, str]:
        """Trained weights that bf16 lets stand still, with the reason."""
        return dict(self._excused)

    def versions(self) -> dict[str, str]:
        """torch and NumPy; torchao where it is in use."""
        return readings.versions()

    def readings(self) -> dict[str, Any]:
        """Threads, instruction set and libraries as torch reports them."""
        return readings.readings()

    def evidence(self, batch: Batch) -> TorchEvidence:
        """What one forward and backward pass and the optimizer's step on one tensor executed."""
        return self.looked(batch).evidence

    def looked(self, batch: Batch) -> Looked[TorchEvidence]:
        """The evidence and the gradients of its pass; forward has none."""
        experiment, module = self._experiment, self._model
        compilation = self._passes.compilation
        with self._unchanged():
            hidden = bool(compilation)
            marked = activation_calls.marked(module, hidden)
            with marked, profiled() as passes, block_runs(module.h, hidden) as runs:
                self._passes.step(batch)
            gradients = self._gradients() if self._passes.trains else None
            self._forget_gradients()
            with profiled() as update:
                if self.optimizer is not None:
                    optimizers.step_single_tensors(self.optimizer)
            arrays = (batch.inputs, batch.relations)
            # One sequence tells as well as a batch how far a pass is from fp32's.
            inputs = [torch.from_numpy(x[:1]) for x in arrays if x is not None]
            load = expert_load(module.h)  # of the pass that trains: the proof's has no noise
            proof = self._proof(passes, *inputs)
            of_step = of_single_layers = None
            if experiment.runtime.matmul_backend != "default":
                of_step, of_single_layers = by_library.look(
                    module, experiment, lambda: self._passes.step(batch)
                )
        ops = operators(passes)
        again = products_again(passes, experiment.model.vocab_size) if compilation else runs.all()
        evidence = TorchEvidence(
            ops=ops | operators(update) | activation_calls.calls(passes),
            products_by_library=of_step,
            layer_products_by_library=of_single_layers,
            optimizer_kernel=optimizer_kernel(update),
            checkpointed=again,
            precision=proof,
            moe_load=load,
            product_flops=product_work.executed(ran(passes)),
            block_runs=None if compilation else runs.each_once(),
            optimizer=self._optimizer_state(optimizer_name(update)),
            **(compilation.evidence(ops) if compilation else Compiled()),
            **given(passes, compiled=compilation is not None),
        )
        return Looked(evidence, gradients)

    def _make_optimizer(self) -> optimizers.Steps:
        return optimizers.make(self._experiment, self.trained.values())

    def _optimizer_state(self, name: str | None) -> OptimizerState | None:
        if self.optimizer is None:
            return None
        said = optimizers.said(self.optimizer, self.trained.values())
        updates, rate = self._updates, self.steered_rate
        return OptimizerState(name=name, updates=updates, steered_rate=rate, **said)

    def _proof(self, passes: Any, *inputs: torch.Tensor) -> list[PrecisionCheck]:
        """That the precision is in force; see `in_precision.look`."""
        return in_precision.look(self._model, self._experiment, passes, *inputs)

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Puts gradients and random numbers back afterwards; inside there are no gradients yet."""
        kept = {name: parameter.grad for name, parameter in self.trained.items()}
        self._forget_gradients()
        with keep_random():
            try:
                yield
            finally:
                for name, gradient in kept.items():
                    self.trained[name].grad = gradient

    def _gradients(self) -> Gradients:
        """Those that the parameters have."""
        own = {name: parameter.grad for name, parameter in self.trained.items()}
        return Gradients({name: grad for name, grad in own.items() if grad is not None})

    def _forget_gradients(self) -> None:
        for parameter in self.trained.values():
            parameter.grad = None


def build(experiment: Experiment, weights: Weights) -> TorchEngine:
    """The engine of this experiment; see `cputrain.engines.build`."""
    return TorchEngine(experiment, weights)
