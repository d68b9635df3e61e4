"""What of tuned settings carries over to a PyTorch script of one's own."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from cputrain import environ
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.report import paste
from cputrain.run import placement

OF_A_WORKER = ("PYTHON", environ.PREFIX)
"""Beginnings of variables that are this project's own."""
THREADS = "OMP_NUM_THREADS"

LOOP: dict[str, Callable[[Any], str]] = {
    "batch_size": lambda value: f"micro-batches of {value} sequences",
    "grad_accum": lambda value: (
        "optimizer.step() after each micro-batch"
        if value == 1
        else f"optimizer.step() after the gradients of {value} micro-batches, each loss divided "
        f"by {value}"
    ),
    "loss_chunk": lambda value: (
        "cross entropy over all rows at once"
        if value is None
        else f"head and cross entropy over {value} rows at a time, each under "
        "torch.utils.checkpoint"
    ),
    "activation_checkpointing": lambda value: (
        f"{'torch' if value else 'no torch'}.utils.checkpoint around the blocks"
    ),
    "loader_workers": lambda value: f"a DataLoader with num_workers={value}",
    "compile": lambda value: (
        "no torch.compile" if value == "eager" else f'torch.compile(model, backend="{value}")'
    ),
    "attention_backend": lambda value: (
        "F.scaled_dot_product_attention(q, k, v, is_causal=...)"
        if value == "sdpa"
        else "attention as matmul, mask, softmax, matmul"
    ),
    "matmul_backend": lambda value: f"linear layers by {value} (docs/engines.md)",
}
"""By field: the call, or the change of a training loop, for a value of it."""


def script_lines(best: Experiment, default: Experiment, again: str) -> list[str]:
    """Environment, preload, threads and calls.

    Args:
        best: what was confirmed, settled.
        default: what it was compared with, settled.
        again: words of a command line that describe the model and its tuning.
    """
    engine = best.runtime.engine
    if engine != specs.FIRST:
        # A flag that comes later counts.
        onto = "" if default.runtime.engine == specs.FIRST else f"--engine {specs.FIRST}"
        words = " ".join(filter(None, ("python3 bench.py tune", again, onto, "--keep engine")))
        return [
            f"for a PyTorch script of your own nothing was measured: engine={engine} is not torch; "
            f"{words} finds what torch can do"
        ]
    shell = " ".join(f"{name}={shlex.quote(v)}" for name, v in _variables(best, default).items())
    lines = [
        "for a PyTorch script of your own:",
        f"  {shell} {_on_cpus(best, default)}python train.py",
    ]
    before, after = default.flat(), best.flat()
    changed = {name: value for name, value in after.items() if value != before[name]}
    for name, value in changed.items():
        as_line = LOOP.get(name)
        pasted = as_line(value) if as_line else _call(name, value, best)
        if pasted is not None:
            lines.append(f"  {pasted}")
    return lines


def _variables(best: Experiment, default: Experiment) -> dict[str, str]:
    """Variables of a worker's environment that differ, and its threads."""
    mine, usual = (placement.environment(each, placement.place(each)) for each in (best, default))
    differ = {name: value for name, value in mine.items() if usual.get(name) != value}
    kept = {name: v for name, v in differ.items() if not name.startswith(OF_A_WORKER)}
    return {THREADS: mine[THREADS], **kept}


def _on_cpus(best: Experiment, default: Experiment) -> str:
    """What comes before the interpreter where the CPUs are others."""
    cpus, usual = (placement.place(each).cpus for each in (best, default))
    return "" if cpus == usual else f"{paste.on_cpus(cpus)} "


def _call(name: str, value: Any, best: Experiment) -> str | None:
    """A line of Python for a setting that is no variable of the environment."""
    if name == "optimizer_kernel":
        return paste.optimizer(best.training.optimizer, value)
    if name != "precision":
        return None
    return paste.LINES[name](value)
