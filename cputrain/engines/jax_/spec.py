"""JAX on paper: the whole step is one program, compiled by XLA."""

from __future__ import annotations

from cputrain.engines.specs import Spec
from cputrain.experiment import Experiment
from cputrain.experiment.fields import refuse


class JaxSpec(Spec):
    """JAX on XLA's CPU backend."""

    name = "jax"
    defaults = {**Spec.defaults, "compile": "xla"}
    only = {
        "architecture": ("gpt",),
        "objective": ("causal",),
        "precision": ("fp32", "bf16", "mixed"),
        "optimizer": ("adamw", "sgd", "lion"),
        "fine_tuning": ("scratch",),
        "compile": ("xla",),
        "loss_chunk": (None,),
        "matmul_backend": ("default",),
    }

    def check(self, experiment: Experiment) -> None:
        """Also that no product is of bf16 where instructions are capped."""
        super().check(experiment)
        level, precision = experiment.system.instruction_set, experiment.training.precision
        if level != "native" and precision != "fp32":
            rule = f"with precision = {precision!r} XLA multiplies fp32 numbers under a cap"
            refuse("instruction_set", level, rule)


SPEC = JaxSpec()
