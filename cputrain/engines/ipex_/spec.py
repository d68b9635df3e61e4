"""Intel's extension of torch 2.8 on paper; it has an environment of its own."""

from __future__ import annotations

from cputrain.engines.specs import Spec


class IpexSpec(Spec):
    """torch 2.8 with Intel's extension."""

    name = "ipex"
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


SPEC = IpexSpec()
