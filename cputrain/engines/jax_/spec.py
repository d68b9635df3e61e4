"""JAX on paper: the whole step is one program, compiled by XLA."""

from __future__ import annotations

from typing import Any

from cputrain.engines.jax_ import executed, temporaries
from cputrain.engines.jax_.knobs.cache import JaxCache
from cputrain.engines.jax_.knobs.device import JaxDevice
from cputrain.engines.jax_.knobs.threads import JaxThreads
from cputrain.engines.jax_.knobs.xla import Xla
from cputrain.engines.jax_.schema import JaxEvidence
from cputrain.engines.specs import Spec
from cputrain.experiment import Experiment
from cputrain.experiment.fields import refuse
from cputrain.knobs.general import together_with
from cputrain.knobs.inforce import Check, same
from cputrain.knobs.instructions import Instructions
from cputrain.knobs.omp_runtime import OmpRuntime
from cputrain.machine import threads


class JaxSpec(Spec[JaxEvidence]):
    """JAX on XLA's CPU backend."""

    name = "jax"
    evidence_type = JaxEvidence
    packages = ("jax", "optax")
    defaults = {**Spec.defaults, "compile": "xla"}
    only = {
        "architecture": ("gpt",),
        "objective": ("causal",),
        "precision": ("fp32", "bf16", "mixed"),
        "optimizer": ("adamw", "sgd", "lion"),
        "fine_tuning": ("scratch", "full"),
        "compile": ("xla",),
        "loss_chunk": (None,),
        "matmul_backend": ("default",),
    }
    is_calibrated = True
    start_s = 3.0
    compile_s = {"xla": 2.0}
    framework_bytes = 300_000_000
    compiler_bytes = {"xla": 100_000_000}
    # jax.nn.dot_product_attention is products, mask and softmax one by one on a CPU, and XLA makes
    # fp32 of bf16 factors that it turns before it multiplies them (jax 0.10.2).
    kept_per_pair = 2
    used_per_pair = 6
    turns_factors = True
    allocates = "programs"
    dispatching = 1  # XLA's, which computes in turns
    runs_alone = False  # the program of one takes its memory anew each time, that of a step once
    knobs = together_with(
        OmpRuntime(), JaxDevice(), JaxThreads(), JaxCache(), Xla(), Instructions()
    )

    def check(self, experiment: Experiment) -> None:
        """Also that no product is of bf16 where instructions are capped."""
        super().check(experiment)
        level, precision = experiment.system.instruction_set, experiment.training.precision
        if level != "native" and precision != "fp32":
            rule = f"with precision = {precision!r} XLA multiplies fp32 numbers under a cap"
            refuse("instruction_set", level, rule)

    def leaves_out(self, experiment: Experiment, name: str) -> bool:
        """XLA leaves out whatever no result needs."""
        return name.endswith("mlp.proj.weight")

    def program_bytes(self, experiment: Experiment) -> int:
        """See `temporaries`."""
        return temporaries.again(experiment)

    def threads(self, expected: int, readings: dict[str, Any]) -> list[Check]:
        """The threads of XLA's pool."""
        return [same("threads of XLA's pool", expected, readings.get("pool_threads"))]

    def pool(self) -> list[int]:
        """XLA's."""
        return threads.named(threads.XLA_POOL)

    def checks(self, experiment: Experiment, evidence: JaxEvidence) -> list[Check]:
        """See `executed`."""
        return executed.checks(experiment, evidence)


SPEC = JaxSpec()
