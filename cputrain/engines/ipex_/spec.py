"""Intel's extension of torch 2.8 on paper; it has an environment of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cputrain.engines.ipex_ import executed
from cputrain.engines.ipex_.schema import IpexEvidence
from cputrain.engines.specs import Spec
from cputrain.engines.torch_.knobs.instructions import TorchInstructions
from cputrain.engines.torch_.knobs.omp_runtime import TorchOmpRuntime
from cputrain.engines.torch_.spec import SPEC as TORCH
from cputrain.experiment import Experiment
from cputrain.knobs.general import together_with
from cputrain.knobs.inforce import Check
from cputrain.machine import cpu, reading
from cputrain.model.products import is_last

BF16 = (("avx512bw", "avx512dq", "avx512vl"), ("avx_ne_convert",))
"""What its oneDNN multiplies bf16 with: all of one of these (frontend.py of IPEX 2.8)."""


class IpexSpec(Spec[IpexEvidence]):
    """torch 2.8 with Intel's extension."""

    name = "ipex"
    evidence_type = IpexEvidence
    only = {
        "architecture": ("gpt",),
        "n_kv_head": (None,),  # torch 2.8's fused kernel does not share heads
        "instruction_set": ("native", "avx2"),  # IPEX has no code below AVX2
        "objective": ("causal",),
        "precision": ("fp32", "bf16"),
        "optimizer": ("adamw",),
        "fine_tuning": ("scratch",),
        "compile": ("eager",),
        "matmul_backend": ("default",),
    }
    has = ("auto_kernel_selection", "pinning", "wait_policy", "omp_runtime")
    is_raced = False  # it has an environment of its own
    stack = "ipex"
    start_s = 6.0
    framework_bytes = 820_000_000
    fuses_attention = True
    knobs = together_with(TorchOmpRuntime(), TorchInstructions())

    def leaves_out(self, experiment: Experiment, name: str) -> bool:
        """As torch; a layer packed for oneDNN is a function whose tensors are kept."""
        packed = experiment.runtime.auto_kernel_selection or experiment.training.precision == "bf16"
        return not (packed or experiment.model.dropout) and is_last(experiment, name)

    def why_not(self, experiment: Experiment, root: Path = reading.ROOT) -> str | None:
        """Its oneDNN multiplies bf16 with instructions that not every CPU has."""
        if experiment.training.precision != "bf16":
            return None
        has = cpu.info(root, "flags").split()
        if any(all(flag in has for flag in flags) for flags in BF16):
            return None
        needed = " or ".join(", ".join(flags) for flags in BF16)
        return f"IPEX multiplies bf16 with {needed}, and this CPU has neither"

    def threads(self, expected: int, readings: dict[str, Any]) -> list[Check]:
        """As torch."""
        return TORCH.threads(expected, readings)

    def checks(self, experiment: Experiment, evidence: IpexEvidence) -> list[Check]:
        """See `executed`."""
        return executed.checks(experiment, evidence)


SPEC = IpexSpec()
