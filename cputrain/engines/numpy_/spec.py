"""The NumPy reference on paper."""

from __future__ import annotations

from cputrain.engines.specs import BY_HAND, Spec


class NumpySpec(Spec):
    """NumPy, its backward pass by hand."""

    name = "numpy"
    defaults = {**Spec.defaults, "attention_backend": "manual"}
    only = BY_HAND


SPEC = NumpySpec()
