"""The torch engine's model and optimizer, optimized by IPEX for training."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# IPEX imports inductor, which where there is Triton, as with every CUDA build of torch, starts
# processes to compile in: seconds of CPU time beside the first steps, for nothing.
os.environ["TORCH_WARM_POOL"] = "0"

import intel_extension_for_pytorch as ipex
import torch
from msgspec import structs

from cputrain.engines import EngineError, Looked, check_weights
from cputrain.engines.ipex_ import packing, proof
from cputrain.engines.ipex_.schema import IpexEvidence, IpexState
from cputrain.engines.torch_ import optimizers, precision
from cputrain.engines.torch_.engine import TorchEngine
from cputrain.engines.torch_.schema import PrecisionCheck
from cputrain.experiment import Experiment
from cputrain.model.shapes import weight_shapes

if TYPE_CHECKING:
    import numpy as np

    from cputrain.data.batches import Batch
    from cputrain.engines import Weights


class IpexEngine(TorchEngine):
    """See `cputrain.engines.Engine`.

    With bf16, weights and the optimizer's state are bf16 before IPEX sees them, as in the torch
    engine. Given the type itself, IPEX would keep fp32 master weights for AdamW, which is
    another precision: `split_master_weight_for_bf16` halves them, for the optimizers that IPEX
    has kernels for, and AdamW is none. So AdamW's kernel is torch's own, as asked.

    fp32 without auto_kernel_selection leaves the layers as they are. With it, and in bf16 in
    either case, the blocks' linear layers are packed for oneDNN, and so are their gradients and
    the optimizer's state; weights and gradients are unpacked where they leave the engine.

    Raises:
        EngineError: bf16 on a CPU for which IPEX has no bf16 products.
    """

    name = "ipex"

    def __init__(self, experiment: Experiment, weights: Weights) -> None:
        packing.require(experiment)
        super().__init__(experiment, weights)
        packing.optimize(self._model, self.optimizer, experiment)
        self._packed = packing.packed(self._model)
        named = dict(self._model.named_parameters())
        if any(named[name] is not parameter for name, parameter in self._parameters.items()):
            raise EngineError("IPEX replaced a parameter: the optimizer would train another one")

    def gradients(self, batch: Batch) -> dict[str, np.ndarray]:
        """Gradients of what is trained, in the layout of `model.shapes`."""
        gradients = super().gradients(batch)
        return {name: packing.unpacked(self._packed.get(name), g) for name, g in gradients.items()}

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the weights, float32, in the layout of `model.shapes`."""
        weights = super().weights()
        return {name: packing.unpacked(self._packed.get(name), w) for name, w in weights.items()}

    def load_weights(self, weights: Weights) -> None:
        """Copy `weights` in place, packed where the layer is."""
        check_weights(weight_shapes(self._experiment), weights)
        for name, parameter in self._parameters.items():
            layer = self._packed.get(name)
            precision.load(parameter, packing.repacked(layer, weights[name]))

    def versions(self) -> dict[str, str]:
        """torch, NumPy and IPEX."""
        return super().versions() | {"ipex": str(ipex.__version__)}

    def readings(self) -> dict[str, Any]:
        """As torch reports them, and IPEX of itself."""
        readings, own = super().readings(), packing.readings()
        levels = {"ipex": own["isa"], "ipex_onednn": own["onednn_isa"]}
        return readings | {"ipex": own, "instruction_sets": readings["instruction_sets"] | levels}

    def looked(self, batch: Batch) -> Looked[IpexEvidence]:
        """What a step executed, as torch shows it, and IPEX of itself; no packed gradients."""
        ipex = IpexState(packed=len(self._packed), **packing.readings())
        of_torch = super().looked(batch).evidence
        return Looked(IpexEvidence(**structs.asdict(of_torch), ipex=ipex))

    def _make_optimizer(self) -> optimizers.Steps:
        """torch's own class, as IPEX takes nothing else."""
        arguments = optimizers.adamw_arguments(self._experiment)
        return torch.optim.AdamW(self.trained.values(), **arguments)

    def _proof(self, passes: Any, *inputs: torch.Tensor) -> list[PrecisionCheck]:
        return proof.look(self._model, self._experiment, passes, self.weights(), *inputs)


def build(experiment: Experiment, weights: Weights) -> IpexEngine:
    """The engine of this experiment; see `cputrain.engines.build`."""
    return IpexEngine(experiment, weights)
