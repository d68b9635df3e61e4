"""Our own C on paper."""

from __future__ import annotations

from cputrain.engines.specs import BY_HAND, Spec
from cputrain.experiment import Experiment
from cputrain.experiment.fields import refuse


class NativeSpec(Spec):
    """Our own C with OpenMP, its backward pass by hand."""

    name = "native"
    defaults = {**Spec.defaults, "attention_backend": "manual"}
    only = {
        **BY_HAND,
        "attention": ("full",),
        "n_kv_head": (None,),
        "activation": ("gelu", "gelu_tanh", "relu"),
        "matmul_backend": ("default", "openblas", "mkl"),
    }
    has = (
        *("cc", "cc_level", "cc_target", "lto", "omp_schedule"),
        *("pinning", "wait_policy", "omp_runtime"),
    )

    def check(self, experiment: Experiment) -> None:
        """Also what its compilers need."""
        super().check(experiment)
        runtime, system = experiment.runtime, experiment.system
        if runtime.cc == "clang" and system.omp_runtime != "libiomp5":
            rule = "its OpenMP is LLVM's: omp_runtime = 'libiomp5' is needed"
            refuse("cc", runtime.cc, rule)
        if runtime.cc_target == "generic" and system.instruction_set != "native":
            rule = "cc_target = 'generic' has the instructions of every processor of the family"
            refuse("instruction_set", system.instruction_set, rule)


SPEC = NativeSpec()
