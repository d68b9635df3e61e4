"""What IPEX really executed, held against what was asked: its own evidence, checked."""

from __future__ import annotations

from cputrain.engines.ipex_.schema import IpexEvidence
from cputrain.engines.multiplied import linear_layers
from cputrain.engines.torch_ import executed
from cputrain.experiment import Experiment
from cputrain.knobs.inforce import Check, same

FORWARD, BACKWARD = "IPEXLinearOp::forward", "torch_ipex::linear_backward"
"""The profiler's names of a pass through a layer of IPEX's, of which each has one call."""
PLAIN = "aten::addmm"
"""torch's own layer with a bias: the blocks' have one, the head has none."""


def checks(experiment: Experiment, evidence: IpexEvidence) -> list[Check]:
    """torch's checks, and which library executed the blocks' linear layers.

    In bf16 IPEX packs them for oneDNN, whatever auto_kernel_selection says.
    """
    ipex, ops = evidence.ipex, evidence.ops
    auto = experiment.runtime.auto_kernel_selection
    by_onednn = auto or experiment.training.precision == "bf16"
    layers = len(linear_layers(experiment))
    # A layer is one function, whose tensors are kept once it has run again to its end.
    passes = 2 if experiment.training.activation_checkpointing else 1
    forward, plain = (passes * layers, 0) if by_onednn else (0, layers)
    backward = layers if by_onednn else 0
    ran, left = ops.get(FORWARD, 0), ops.get(PLAIN, 0)
    enough = left == 0 if by_onednn else left >= layers
    own = sorted(name for name in ops if name.startswith("torch_ipex::") and "step" in name)
    return [
        *executed.checks(experiment, evidence),
        same("auto_kernel_selection in IPEX", auto, ipex.auto_kernel_selection),
        same("linear layers packed for oneDNN", layers if by_onednn else 0, ipex.packed),
        same("forward passes of packed layers", forward, ran),
        same("backward passes of packed layers", backward, ops.get(BACKWARD, 0)),
        Check("linear layers of torch's own", plain if by_onednn else f">= {plain}", left, enough),
        same("rounding of fp32 products in IPEX", "FP32", ipex.fp32_math_mode),
        same("optimizer kernels of IPEX's own", [], own),
    ]
