"""Our own C on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cputrain.engines.native_ import executed, library_build
from cputrain.engines.native_.knobs.compiler import NativeCompiler
from cputrain.engines.native_.knobs.instructions import NativeInstructions
from cputrain.engines.native_.knobs.matmul import NativeMatmul
from cputrain.engines.native_.knobs.omp_runtime import NativeOmpRuntime
from cputrain.engines.native_.knobs.omp_schedule import OmpSchedule
from cputrain.engines.native_.schema import NativeEvidence
from cputrain.engines.specs import BY_HAND, Spec
from cputrain.experiment import Experiment
from cputrain.experiment.fields import refuse
from cputrain.knobs.general import together_with
from cputrain.knobs.inforce import Check, same
from cputrain.model import native, native_waits

FLOAT = 4
"""Bytes of a float32."""


class NativeSpec(Spec[NativeEvidence]):
    """Our own C with OpenMP, its backward pass by hand."""

    name = "native"
    evidence_type = NativeEvidence
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
    variants = {"native openblas": {"matmul_backend": "openblas"}}
    is_calibrated = True
    start_s = 2.0
    framework_bytes = 75_000_000
    has_buffers = False
    allocates = "nothing"
    handing_out = 0.15  # a loop's start and end for each operation, no framework between
    adds_in_products = True
    packs_together = True
    updates_at_once = True
    adding_gradients = 1
    knobs = together_with(
        *(NativeOmpRuntime(), OmpSchedule(), NativeMatmul(), NativeCompiler(), NativeInstructions())
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

    def pairs(self, length: int) -> int | None:
        """Its blocks of queries meet the keys up to their end."""
        return native.pairs(length)

    def activation_bytes(self, experiment: Experiment) -> int | None:
        """Its one allocation."""
        return native.activation_numbers(experiment) * FLOAT

    def uneven(self, m: int, n: int, k: int, threads: int) -> float:
        """Its tiles need not divide among the threads."""
        return native_waits.uneven(m, n, k, threads)

    def missing(self, experiment: Experiment) -> Path | None:
        """Its library, which is compiled as the experiment asks."""
        path = library_build.place(experiment)
        return None if path.exists() else path

    def build(self, experiment: Experiment) -> None:
        """Compile it."""
        library_build.library(experiment)

    def threads(self, expected: int, readings: dict[str, Any]) -> list[Check]:
        """OpenMP's count, and the team that a parallel region really has."""
        return [
            same("omp_get_max_threads()", expected, readings.get("openmp_threads")),
            same("threads of a parallel region", expected, readings.get("openmp_team")),
        ]

    def checks(self, experiment: Experiment, evidence: NativeEvidence) -> list[Check]:
        """See `executed`."""
        return executed.checks(experiment, evidence)


SPEC = NativeSpec()
