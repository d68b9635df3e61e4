"""torch on paper: it has the most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cputrain.engines.specs import Allowed, Spec, joined
from cputrain.engines.torch_ import executed
from cputrain.engines.torch_.knobs.inductor import InductorCompiler
from cputrain.engines.torch_.knobs.instructions import TorchInstructions
from cputrain.engines.torch_.knobs.matmul import TorchMatmul
from cputrain.engines.torch_.knobs.omp_runtime import TorchOmpRuntime
from cputrain.engines.torch_.knobs.threads import TorchThreads
from cputrain.engines.torch_.schema import TorchEvidence
from cputrain.experiment import Experiment
from cputrain.experiment.fields import refuse
from cputrain.knobs.general import together_with
from cputrain.knobs.inforce import Check, same
from cputrain.machine import isa, reading
from cputrain.model import shares
from cputrain.model.products import INT8, is_last

SHARED_OUT: Allowed = {
    "objective": ("causal",),
    "packing": ("packed",),
    "loader": ("memory",),
    "fine_tuning": ("scratch",),
    "compile": ("eager",),
    "affinity": ("default",),
    "pinning": ("none",),
    "threads": (None,),
    "intra_op_threads": (None,),
}
"""With system.processes: each has as much work, and threads and CPUs by its share."""


class TorchSpec(Spec[TorchEvidence]):
    """PyTorch."""

    name = "torch"
    evidence_type = TorchEvidence
    packages = ("torch", "torchao")
    only = {
        "compile": ("eager", "aot_eager", "inductor"),
        "matmul_backend": ("default", "mkl", "onednn"),
    }
    has = (
        *("processes", "intra_op_threads", "inter_op_threads"),
        *("pinning", "wait_policy", "omp_runtime"),
    )
    variants = {"torch inductor": {"compile": "inductor"}}
    is_calibrated = True
    start_s = 4.0
    compile_s = {"aot_eager": 6.0, "inductor": 25.0}
    framework_bytes = 360_000_000
    compiler_bytes = {"aot_eager": 80_000_000, "inductor": 130_000_000}
    fuses_attention = True
    again_passes = 4  # 0.82 ms a block, where a forward pass of it took 0.21 ms: saved-tensor hooks
    forks = True
    knobs = together_with(
        TorchOmpRuntime(), TorchThreads(), TorchMatmul(), InductorCompiler(), TorchInstructions()
    )

    def check(self, experiment: Experiment) -> None:
        """Also what several processes cannot share out."""
        super().check(experiment)
        processes = experiment.system.processes
        if processes is None:
            return
        settings = experiment.flat()
        for name, allowed in SHARED_OUT.items():
            if settings[name] not in allowed:
                rule = f"with processes = {processes} only {joined(allowed)}"
                refuse(name, settings[name], rule)
        training, chunk = experiment.training, experiment.runtime.loss_chunk
        if training.batch_size * training.grad_accum % processes:
            step = f"batch_size = {training.batch_size} times grad_accum = {training.grad_accum}"
            refuse("processes", processes, f"{step} does not divide by it")
        split, _ = shares.parts(experiment, processes)
        rows = training.seq_len * training.batch_size // split
        if chunk is not None and chunk > rows:
            rule = f"each of {processes} processes has {rows} rows of a micro-batch"
            refuse("loss_chunk", chunk, rule)

    def why_not(self, experiment: Experiment, root: Path = reading.ROOT) -> str | None:
        """oneDNN has no LSTM in bf16 below AVX-512 on x86; torch's own is a loop over tokens."""
        low = experiment.training.precision in ("bf16", "mixed")
        if experiment.model.architecture != "lstm" or not low or not isa.is_x86(root):
            return None
        reason = isa.why_not("avx512", root)
        return None if reason is None else f"oneDNN's LSTM in bf16 needs AVX-512: {reason}"

    def leaves_out(self, experiment: Experiment, name: str) -> bool:
        """torch.utils.checkpoint stops once it has every tensor that the backward pass asks for.

        Dropout keeps its mask, an int8 layer what it has rounded itself; and oneDNN's layer is a
        function whose tensors are kept once it has run. A compiler looks into these. It computes
        the last block to its end, as nothing has kept what that gives to the last norm; inductor
        keeps an int8 product, and one before dropout, instead. For counts that may be any block:
        here the first, which has names of its own.
        """
        if not is_last(experiment, name):
            return False
        compiler, drops = experiment.runtime.compile, experiment.model.dropout > 0
        is_int8 = experiment.training.precision in INT8
        if compiler == "inductor":
            return drops or is_int8 or not name.startswith("h.0.")
        if compiler == "aot_eager":
            return not drops and not name.startswith("h.0.")
        return not (drops or is_int8 or experiment.runtime.matmul_backend == "onednn")

    def threads(self, expected: int, readings: dict[str, Any]) -> list[Check]:
        """torch's own count, of the threads within an operation."""
        return [same("torch.get_num_threads()", expected, readings.get("intra_op_threads"))]

    def checks(self, experiment: Experiment, evidence: TorchEvidence) -> list[Check]:
        """See `executed`."""
        return executed.checks(experiment, evidence)


SPEC = TorchSpec()
