"""The NumPy reference on paper."""

from __future__ import annotations

from typing import Any

from cputrain.engines.numpy_ import executed
from cputrain.engines.numpy_.knobs.instructions import NumpyInstructions
from cputrain.engines.numpy_.schema import NumpyEvidence
from cputrain.engines.specs import BY_HAND, Spec
from cputrain.experiment import Experiment
from cputrain.knobs.general import together_with
from cputrain.knobs.inforce import Check
from cputrain.knobs.matmul import Matmul
from cputrain.knobs.omp_runtime import OmpRuntime
from cputrain.model.attention_kept import pair_numbers
from cputrain.model.kept import block_numbers

FLOAT = 4
"""Bytes of a float32."""


class NumpySpec(Spec[NumpyEvidence]):
    """NumPy, its backward pass by hand."""

    name = "numpy"
    evidence_type = NumpyEvidence
    packages = ("numpy",)
    defaults = {**Spec.defaults, "attention_backend": "manual"}
    only = BY_HAND
    is_raced = False  # it is there to check the others by
    start_s = 2.0
    framework_bytes = 75_000_000
    knobs = together_with(OmpRuntime(), Matmul(), NumpyInstructions())

    def activation_bytes(self, experiment: Experiment) -> int | None:
        """What every block keeps, and the last one's arrays and the logits."""
        model, training = experiment.model, experiment.training
        tokens = training.batch_size * training.seq_len
        used = tokens * (model.vocab_size + 7 * model.n_embd + model.hidden)
        used += pair_numbers(experiment)
        return (model.n_layer * block_numbers(experiment) + used) * FLOAT

    def threads(self, expected: int, readings: dict[str, Any]) -> list[Check]:
        """The threads of the library that multiplies."""
        pools, blas = readings.get("threadpools") or [], readings.get("blas") or {}
        counts = [pool["num_threads"] for pool in pools if pool.get("user_api") == "blas"]
        if blas.get("path"):  # of several that are loaded, this one multiplies
            counts = [blas["threads"]]
        return [Check("BLAS threads", expected, counts, bool(counts) and set(counts) == {expected})]

    def checks(self, experiment: Experiment, evidence: NumpyEvidence) -> list[Check]:
        """See `executed`."""
        return executed.checks(experiment, evidence)


SPEC = NumpySpec()
