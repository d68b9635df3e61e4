"""PyTorch: eager or compiled, fused AdamW."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch._dynamo  # the optimizer would import it when it is built: a second of its own
from torch import Tensor

from cputrain.engines import EngineError, check_weights
from cputrain.engines.torch_.evidence import Compilation, operators, profiled, step_one_tensor
from cputrain.engines.torch_.model import Gpt
from cputrain.experiment import Experiment
from cputrain.model.shapes import weight_shapes

if TYPE_CHECKING:
    from cputrain.data.batches import Batch
    from cputrain.engines import Weights


class TorchEngine:
    """See `cputrain.engines.Engine`. Threads are those that the environment gave torch."""

    name = "torch"

    def __init__(self, experiment: Experiment, weights: Weights) -> None:
        training = experiment.training
        check_weights(weight_shapes(experiment), weights)
        with torch.device("meta"):
            self._model = Gpt(experiment)
        # clone: torch's own memory is aligned to 64 bytes, NumPy's is not.
        copies = {name: torch.from_numpy(array).clone() for name, array in weights.items()}
        self._model.load_state_dict(copies, assign=True)
        self._parameters = dict(self._model.named_parameters())
        self._optimizer = torch.optim.AdamW(
            self._parameters.values(),
            lr=training.learning_rate,
            betas=(training.beta1, training.beta2),
            eps=training.eps,
            weight_decay=training.weight_decay,
            fused=True,
        )
        self._shape = (training.batch_size, training.seq_len)
        self._backend = experiment.runtime.compile
        self._compilation: Compilation | None = None
        self._forward: Any = self._model
        if self._backend != "eager":
            self._compilation = Compilation(self._backend)
            self._forward = torch.compile(
                self._model, backend=self._backend, fullgraph=True, dynamic=False
            )

    def train_step(self, *batches: Batch) -> float:
        """One optimizer step; the first one compiles, where that was asked for."""
        share = 1 / len(batches)
        loss = sum(self.accumulate(batch, share) for batch in batches) * share
        self.update()
        return loss

    def accumulate(self, batch: Batch, share: float) -> float:
        """Forward and backward; the gradients add up."""
        return self._backward(batch, share)

    def update(self) -> None:
        """The optimizer's step."""
        self._optimizer.step()
        self._optimizer.zero_grad()

    def synchronize(self) -> None:
        """Nothing to wait for: on a CPU torch returns when the work is done."""

    def loss(self, batch: Batch) -> float:
        """The loss; where compiled, by the very graph that trains."""
        with torch.set_grad_enabled(self._compilation is not None):  # else: a second graph
            return float(self._run(batch).item())

    def gradients(self, batch: Batch) -> dict[str, np.ndarray]:
        """Copies of the gradients."""
        self._backward(batch)
        found = {name: _copy(p.grad) for name, p in self._parameters.items() if p.grad is not None}
        self._optimizer.zero_grad()
        return found

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the weights."""
        return {name: _copy(p) for name, p in self._parameters.items()}

    def load_weights(self, weights: Weights) -> None:
        """Copy `weights` in place."""
        check_weights({n: tuple(p.shape) for n, p in self._parameters.items()}, weights)
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(torch.from_numpy(weights[name]))

    @property
    def steps_done(self) -> int:
        """The least of the counters that AdamW keeps for each tensor."""
        state = self._optimizer.state
        return min(
            int(state[p]["step"].item()) if p in state else 0 for p in self._parameters.values()
        )

    def versions(self) -> dict[str, str]:
        """torch and NumPy."""
        return {"torch": torch.__version__, "numpy": np.__version__}

    def readings(self) -> dict[str, Any]:
        """Threads, instruction set and libraries as torch reports them."""
        return {
            "intra_op_threads": torch.get_num_threads(),
            "inter_op_threads": torch.get_num_interop_threads(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "mkl": torch.backends.mkl.is_available(),
            "mkldnn": torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled,
            "openmp": torch.backends.openmp.is_available(),
            "matmul_precision": torch.get_float32_matmul_precision(),
            "parallel_info": torch.__config__.parallel_info(),
        }

    def evidence(self, batch: Batch) -> dict[str, Any]:
        """Operators of one profiled step; where compiled, what the compiler did so far."""
        with profiled() as profile:
            self._backward(batch)
            self._optimizer.zero_grad()
            step_one_tensor(self._optimizer, self._parameters["ln_f.bias"])
        ops = operators(profile)
        return {"ops": ops, **(self._compilation.found(ops) if self._compilation else {})}

    def _run(self, batch: Batch) -> Tensor:
        """The loss of a batch of the experiment's shape."""
        if batch.inputs.shape != self._shape or batch.targets.shape != self._shape:
            raise EngineError(f"batch of shape {batch.inputs.shape}: {self._shape} is needed")
        inputs, targets = torch.from_numpy(batch.inputs), torch.from_numpy(batch.targets)
        if not self._compilation:
            return self._model(inputs, targets)
        try:
            return self._forward(inputs, targets)
        except Exception as error:
            raise _failure(self._backend, error) from error

    def _backward(self, batch: Batch, share: float = 1.0) -> float:
        """Add `share` of the gradients to those in the parameters; the loss."""
        loss = self._run(batch)
        try:
            (loss if share == 1 else loss * share).backward()
        except Exception as error:
            if not self._compilation:
                raise
            raise _failure(self._backend, error) from error
        return float(loss.item())


def build(experiment: Experiment, weights: Weights) -> TorchEngine:
    """The engine of this experiment; see `cputrain.engines.build`."""
    return TorchEngine(experiment, weights)


def _copy(tensor: Tensor) -> np.ndarray:
    """An array of its own: `numpy()` shares torch's memory."""
    array: np.ndarray = tensor.detach().numpy().copy()
    return array


def _failure(backend: str, error: Exception) -> Exception:
    """What to raise for an error in a compiled step: memory errors stay what they are."""
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return error
    # The first line says who failed, the second why.
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    text = " ".join([f"{type(error).__name__}:", *lines[:2]])
    return EngineError(f"torch.compile with {backend}: {text}")
