"""What each engine has, and the settings that only some engines have. torch has the most."""

from __future__ import annotations

from cputrain.experiment.fields import refuse
from cputrain.experiment.parts import Model, Training
from cputrain.experiment.runtime import Runtime
from cputrain.experiment.system import System

Allowed = dict[str, tuple[object, ...]]

BY_HAND: Allowed = {
    "architecture": ("gpt",),
    "dropout": (0.0,),
    "objective": ("causal",),
    "precision": ("fp32",),
    "optimizer": ("adamw",),
    "activation_checkpointing": (False,),
    "fine_tuning": ("scratch",),
    "attention_backend": ("manual",),
    "compile": ("eager",),
    "loss_chunk": (None,),
}
"""The engines whose backward pass is written by hand."""

ONLY: dict[str, Allowed] = {
    "torch": {"compile": ("eager", "aot_eager", "inductor")},
    "numpy": BY_HAND,
    "native": BY_HAND
    | {
        "attention": ("full",),
        "n_kv_head": (None,),
        "activation": ("gelu", "gelu_tanh", "relu"),
        "matmul_backend": ("default", "openblas", "mkl"),
    },
    "jax": {
        "architecture": ("gpt",),
        "objective": ("causal",),
        "precision": ("fp32", "bf16", "mixed"),
        "optimizer": ("adamw", "sgd", "lion"),
        "fine_tuning": ("scratch",),
        "compile": ("xla",),
        "loss_chunk": (None,),
        "matmul_backend": ("default",),
    },
    "ipex": {
        "architecture": ("gpt",),
        "n_kv_head": (None,),  # torch 2.8's fused kernel does not share heads
        "instruction_set": ("native", "avx2"),  # IPEX has no code below AVX2
        "objective": ("causal",),
        "precision": ("fp32", "bf16"),
        "optimizer": ("adamw",),
        "fine_tuning": ("scratch",),
        "compile": ("eager",),
        "matmul_backend": ("default",),
    },
}
"""By engine: what a field may be, where that is not everything."""

OF: dict[str, tuple[object, tuple[str, ...]]] = {
    "cc": ("gcc", ("native",)),
    "cc_level": ("Ofast", ("native",)),
    "cc_target": ("native", ("native",)),
    "lto": (False, ("native",)),
    "omp_schedule": ("static", ("native",)),
    "auto_kernel_selection": (False, ("ipex",)),
    "processes": (None, ("torch",)),
    "intra_op_threads": (None, ("torch",)),
    "inter_op_threads": (None, ("torch",)),
    "pinning": ("none", ("torch", "native", "ipex")),
    "wait_policy": ("default", ("torch", "native", "ipex")),
    "omp_runtime": ("libgomp", ("torch", "native", "ipex")),
}
"""Settings of some engines only: what each is where nothing is asked, and the engines."""

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


def check(model: Model, training: Training, runtime: Runtime, system: System) -> None:
    """Raise ExperimentError for the first rule that is broken."""
    parts = (model, training, runtime, system)
    settings = {name: value for part in parts for name, value in vars(part).items()}
    engine = f"engine = {runtime.engine!r}"
    for name, allowed in ONLY[runtime.engine].items():
        if settings[name] not in allowed:
            refuse(name, settings[name], f"{engine} has {_joined(allowed)} only")
    for name, (default, engines) in OF.items():
        if settings[name] != default and runtime.engine not in engines:
            refuse(name, settings[name], f"{engine} has no such setting: {_joined(engines)} has")
    capped = system.instruction_set != "native"
    if runtime.engine == "jax" and capped and training.precision != "fp32":
        rule = f"with precision = {training.precision!r} XLA multiplies fp32 numbers under a cap"
        refuse("instruction_set", system.instruction_set, rule)
    if system.processes is not None:
        for name, allowed in SHARED_OUT.items():
            if settings[name] not in allowed:
                rule = f"with processes = {system.processes} only {_joined(allowed)}"
                refuse(name, settings[name], rule)
        if training.batch_size % system.processes:
            rule = f"batch_size = {training.batch_size} does not divide by it"
            refuse("processes", system.processes, rule)
        rows = training.seq_len * training.batch_size // system.processes
        if runtime.loss_chunk is not None and runtime.loss_chunk > rows:
            rule = f"each of {system.processes} processes has {rows} rows of a micro-batch"
            refuse("loss_chunk", runtime.loss_chunk, rule)


def _joined(names: tuple[object, ...]) -> str:
    return " or ".join(map(str, names))
