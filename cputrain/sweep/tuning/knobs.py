"""What is tried: each knob changes some fields, and none of them what is trained.

A knob's values are made for the best settings so far. What a machine, an engine or the rules cannot
have is not left out here: the race says why.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.experiment.runtime import PLAIN
from cputrain.experiment.system import System
from cputrain.machine.mask import choose
from cputrain.machine.topology import read_topology

Changes = Mapping[str, Any]

LARGE_VOCABULARY = 4096
"""Rows of the embedding from which logits are large beside all else."""
CHUNKS = (2048, 512, 128)
"""Rows of logits at a time."""
PROFITS = ("mixed", "bf16")
"""Precisions that may be allowed."""


@dataclass(frozen=True)
class TuningKnob:
    """Something that can be set in several ways.

    Attributes:
        name: for people.
        expected: the time that its best value usually leaves, of 1: which knob is tried first
            where the machine's records say nothing.
        values: the changes to try, by what they are called, of the best settings so far.
        is_whole: its effect is that of the micro-batch's size: it is raced with whole ones.
        is_engine: its values are engines; variants of one engine are other knobs' values too.
    """

    name: str
    expected: float
    values: Callable[[Experiment], Mapping[str, Changes]]
    is_whole: bool = False
    is_engine: bool = False


def table(allowed: tuple[str, ...] = ()) -> list[TuningKnob]:
    """Every knob.

    Args:
        allowed: values of a precision that may be tried.
    """
    knobs = [
        TuningKnob("engine", 0.86, _engines, is_engine=True),
        TuningKnob("checkpointing", 0.87, _one_of("activation_checkpointing", (False,))),
        TuningKnob("compile", 0.88, _one_of("compile", ("eager", "inductor"))),
        TuningKnob("kinds of cores", 0.89, _kinds_of_cores),
        TuningKnob("matmul library", 0.94, _one_of("matmul_backend", MATMULS)),
        TuningKnob("micro-batch", 0.95, _batches, is_whole=True),
        TuningKnob("allocator", 0.96, _one_of("allocator", ALLOCATORS)),
        TuningKnob("loss chunk", 0.965, _chunks, is_whole=True),
        TuningKnob("optimizer kernel", 0.97, _optimizer_kernels),
        TuningKnob("attention", 0.975, _one_of("attention_backend", ("sdpa", "manual"))),
        TuningKnob("huge pages", 0.98, _one_of("huge_pages", ("default", "madvise"))),
        TuningKnob("threads", 0.982, _threads),
        TuningKnob("loader", 0.984, _loaders),
        TuningKnob("pinning", 0.986, _one_of("pinning", ("close", "spread"))),
        TuningKnob("wait policy", 0.988, _one_of("wait_policy", ("active", "passive"))),
        TuningKnob("OpenMP library", 0.99, _one_of("omp_runtime", ("libgomp", "libiomp5"))),
    ]
    if allowed:
        knobs.append(TuningKnob("precision", 0.8, _one_of("precision", allowed)))
    return sorted(knobs, key=lambda knob: knob.expected)


MATMULS = ("default", "mkl", "onednn", "openblas")
ALLOCATORS = ("glibc", "glibc_thresholds", "jemalloc", "tcmalloc", "mimalloc")
OPTIMIZER_KERNELS = ("fused", "foreach", "default")


def _one_of(name: str, values: tuple[Any, ...]) -> Callable[[Experiment], Mapping[str, Changes]]:
    """Every other value of a field."""

    def others(best: Experiment) -> Mapping[str, Changes]:
        now = best.flat()[name]
        return {in_words(name, value): {name: value} for value in values if value != now}

    return others


def in_words(name: str, value: object) -> str:
    """A field with its value, for people."""
    return f"{name}={_word(value)}"


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)


def _engines(best: Experiment) -> Mapping[str, Changes]:
    """Every engine in its plain way, and the variants of those that have some."""
    made: dict[str, Changes] = {}
    for name in specs.NAMES:
        if not specs.of(name).is_raced:
            continue
        plain: Changes = {}
        if name != best.runtime.engine:
            usual = {"engine": name, **dict.fromkeys(PLAIN), "matmul_backend": "default"}
            plain = made[in_words("engine", name)] = {**usual, **_reset(best, name)}
        for label, changes in specs.of(name).variants.items():
            made[f"engine={label}"] = {**plain, **changes}
    return made


def _reset(best: Experiment, engine: str) -> dict[str, object]:
    """Settings of the best so far that an engine has not, back to the usual ones."""
    usual, now, spec = Experiment().flat(), best.flat(), specs.of(engine)
    runs = ("loss_chunk", "activation_checkpointing", *specs.OF_SOME)
    return {
        name: usual[name]
        for name in runs
        if now[name] != usual[name]
        and (
            now[name] not in spec.only.get(name, (now[name],))
            or (name in specs.OF_SOME and name not in spec.has)
        )
    }


def _divisors(number: int) -> Iterator[int]:
    return (n for n in range(1, number + 1) if not number % n)


def _batches(best: Experiment) -> Mapping[str, Changes]:
    """As many tokens in larger and in smaller micro-batches: up to 4 times in steps of about 2."""
    training = best.training
    whole, now = training.batch_size * training.grad_accum, training.batch_size
    sizes = [size for size in _divisors(whole) if now / 8 <= size <= 4 * now and size != now]
    below, above = [s for s in sizes if s < now], [s for s in sizes if s > now]
    return {
        f"batch_size={size}, grad_accum={whole // size}": {
            "batch_size": size,
            "grad_accum": whole // size,
        }
        for size in (*reversed(below[-3:]), *above[:2])
    }


def _chunks(best: Experiment) -> Mapping[str, Changes]:
    """Fewer rows of logits at a time, where there are many of them and the vocabulary is large."""
    rows = best.training.batch_size * best.training.seq_len
    now = best.runtime.loss_chunk
    fits = best.model.vocab_size >= LARGE_VOCABULARY
    sizes = [None, *(size for size in CHUNKS if fits and 2 * size <= rows)]
    return {in_words("loss_chunk", s): {"loss_chunk": s} for s in sizes if s != now}


def _optimizer_kernels(best: Experiment) -> Mapping[str, Changes]:
    """Of the engine whose optimizer has several; others have one way."""
    if best.runtime.engine != specs.FIRST:
        return {}
    return _one_of("optimizer_kernel", OPTIMIZER_KERNELS)(best)


@functools.cache
def _is_hybrid() -> bool:
    return len({cpu.is_efficient for cpu in read_topology().cpus}) > 1


def _kinds_of_cores(best: Experiment) -> Mapping[str, Changes]:
    """All cores of a hybrid processor, or the fast ones alone: a step waits for its last thread."""
    if not _is_hybrid():
        return {}
    return _one_of("affinity", ("default", "performance_cores"))(best)


@functools.cache
def _thread_counts(system: System) -> tuple[int | None, ...]:
    """Every core of a mask, every CPU, half of the cores, one core less where there are many."""
    topology = read_topology(allowed=choose(read_topology(), system))
    cores, cpus = topology.physical_cores, len(topology.cpus)
    counts = {cpus, cores // 2 or cores, cores - 1 if cores > 3 else cores}
    return (None, *sorted(counts - {cores}, reverse=True))


def _threads(best: Experiment) -> Mapping[str, Changes]:
    return _one_of("threads", _thread_counts(best.system))(best)


def _loaders(best: Experiment) -> Mapping[str, Changes]:
    """Threads of a streaming loader, which take CPUs from those that compute."""
    if best.training.loader == "memory":
        return {}
    return _one_of("loader_workers", (0, 1))(best)
