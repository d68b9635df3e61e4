"""torch on paper: it has the most."""

from __future__ import annotations

from cputrain.engines.specs import Allowed, Spec, joined
from cputrain.experiment import Experiment
from cputrain.experiment.fields import refuse

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


class TorchSpec(Spec):
    """PyTorch."""

    name = "torch"
    only = {
        "compile": ("eager", "aot_eager", "inductor"),
        "matmul_backend": ("default", "mkl", "onednn"),
    }
    has = (
        *("processes", "intra_op_threads", "inter_op_threads"),
        *("pinning", "wait_policy", "omp_runtime"),
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
        if training.batch_size % processes:
            rule = f"batch_size = {training.batch_size} does not divide by it"
            refuse("processes", processes, rule)
        rows = training.seq_len * training.batch_size // processes
        if chunk is not None and chunk > rows:
            rule = f"each of {processes} processes has {rows} rows of a micro-batch"
            refuse("loss_chunk", chunk, rule)


SPEC = TorchSpec()
