"""Our own C on paper."""

from __future__ import annotations

from cputrain.engines.specs import BY_HAND, Spec


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


SPEC = NativeSpec()
