"""How to have a setting in a training script of one's own: a line of shell or of Python.

What has no line outside this project is named by its experiment's field, as a suite's `vary` takes
it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.experiment.same_work import FREE_PARTS, Parts, differing
from cputrain.knobs import allocator, huge_pages, instructions, waiting
from cputrain.machine import reading
from cputrain.report import asked_again

PRELOADED = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4"}
"""Files by allocator, as Debian names them; others are lib<name>.so."""


def _shell(variables: dict[str, str]) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())


def _precision(value: str) -> str | None:
    return {
        "bf16": "model.to(torch.bfloat16)",
        "mixed": 'with torch.autocast("cpu", dtype=torch.bfloat16):',
    }.get(value)


def _allocator(value: str) -> str | None:
    if value == "glibc_thresholds":
        settings = ":".join(f"{name}={number}" for name, number in allocator.TUNABLES.items())
        return _shell({"GLIBC_TUNABLES": settings})
    if value == "glibc":
        return None
    return _shell({"LD_PRELOAD": PRELOADED.get(value, f"lib{value}.so")})


def _pinning(value: str) -> str | None:
    return {
        "close": _shell({"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}),
        "spread": _shell({"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}),
    }.get(value)


def _huge_pages(value: str) -> str | None:
    return _shell({"GLIBC_TUNABLES": huge_pages.TUNABLE}) if value == "madvise" else None


def _instruction_set(value: str) -> str | None:
    cap = instructions.CAPS.get(value)
    return _shell(cap.environment) if cap else None


OPTIMIZERS = {
    "adamw": ("AdamW", ("foreach", "fused")),
    "sgd": ("SGD", ("foreach", "fused")),
    "adafactor": ("Adafactor", ("foreach",)),
}
"""By optimizer the class of torch.optim that takes the same steps, and its arguments for kernels.
Of Lion there is none."""


def optimizer(name: str | None, kernel: str) -> str | None:
    """An optimizer's call with a kernel, "default" being none; None where there is no class."""
    if name not in OPTIMIZERS:
        return None
    made, kernels = OPTIMIZERS[name]
    chosen = [f"{each}=False" for each in kernels] if kernel == "default" else [f"{kernel}=True"]
    return f"torch.optim.{made}(..., {', '.join(chosen)})"


def on_cpus(cpus: Sequence[int]) -> str:
    """The beginning of a command that is to run on these CPUs alone."""
    return f"taskset --cpu-list {reading.as_text(cpus)}"


LINES: dict[str, Callable[[Any], str | None]] = {
    "precision": _precision,
    "compile": lambda value: f'model = torch.compile(model, backend="{value}")',
    "attention_backend": lambda value: (
        "F.scaled_dot_product_attention(q, k, v, is_causal=True)" if value == "sdpa" else None
    ),
    "matmul_backend": lambda value: (
        "torch.backends.mkldnn.enabled = True" if value == "onednn" else None
    ),
    "threads": lambda value: _shell({"OMP_NUM_THREADS": str(value)}),
    "intra_op_threads": lambda value: f"torch.set_num_threads({value})",
    "inter_op_threads": lambda value: f"torch.set_num_interop_threads({value})",
    "allocator": _allocator,
    "pinning": _pinning,
    "wait_policy": lambda value: _shell(waiting.variables(value, "libgomp")) or None,
    "omp_runtime": lambda value: _shell({"LD_PRELOAD": f"{value}.so"}),
    "huge_pages": _huge_pages,
    "instruction_set": _instruction_set,
    "processes": lambda value: f"torchrun --nproc-per-node {value}",
}
"""By field: the line for a value of it, or None where a script of one's own has no such line."""


def lines(experiment: Parts, reference: Parts, cpus: Sequence[int] = ()) -> list[str]:
    """What to paste to get from the reference's settings to the experiment's, a line a field.

    Args:
        experiment, reference: as records have them, parts of fields.
        cpus: the mask that the experiment was measured on: how many say too little, as two CPUs
            of one core are another thing than two cores. Empty where it is not known.
    """
    pasted = []
    fields = differing(experiment, reference)
    engine = experiment.get("runtime", {}).get("engine")
    is_usual = engine == Experiment().runtime.engine  # whose lines these are
    its_optimizer = experiment.get("training", {}).get("optimizer")
    parts = [fields.get(part, {}) for part in ("training", *FREE_PARTS[:2])]
    if "engine" in fields.get("runtime", {}):
        return [_other_engine({name: part[name] for part in parts for name in part})]
    for part in parts:
        for name, value in part.items():
            line = _line(name, value, cpus, its_optimizer) if is_usual else None
            pasted.append(line or f"{name}={value!r}")
    return pasted


def _other_engine(fields: Mapping[str, Any]) -> str:
    """The command that trains on the engine that `fields` name, with what that would not do by
    itself.
    """
    engine = fields["engine"]
    own = specs.settle(Experiment().but(engine=engine)).flat()
    changed = {name: value for name, value in fields.items() if value != own[name]}
    words = [word for name, value in changed.items() for word in asked_again.flag(name, value)]
    return f"python3 bench.py train {shlex.join(['--engine', engine, *words])} ..."


def _line(name: str, value: Any, cpus: Sequence[int], its_optimizer: str | None) -> str | None:
    if name in ("cores", "affinity"):
        is_known = value not in (None, "default") and cpus
        return on_cpus(cpus) if is_known else None
    if name == "optimizer_kernel":
        return None if value == "default" else optimizer(its_optimizer, value)
    return LINES.get(name, lambda _: None)(value)
