"""Which hardware and system settings go together, and with which models."""

from __future__ import annotations

from cputrain.experiment.fields import refuse
from cputrain.experiment.parts import Model, Training
from cputrain.experiment.runtime import Runtime
from cputrain.experiment.system import System


def check(model: Model, training: Training, runtime: Runtime, system: System) -> None:
    """Raise ExperimentError for the first rule that is broken."""
    _matmul(model, training, runtime)
    _knobs(runtime, system)
    _pinning(training, system)


def _matmul(model: Model, training: Training, runtime: Runtime) -> None:
    """Where the library that multiplies can be chosen."""
    backend = runtime.matmul_backend
    if backend == "default":
        return
    if training.precision != "fp32":
        rule = f"matmul_backend = {backend!r} is for fp32: other products have libraries of theirs"
        refuse("precision", training.precision, rule)
    if model.architecture == "lstm":
        rule = f"its one layer is oneDNN's: matmul_backend = {backend!r} has nothing to choose"
        refuse("architecture", model.architecture, rule)
    if runtime.compile == "inductor" and backend == "onednn":
        rule = "inductor takes matmul_backend = 'onednn' with constant weights only"
        refuse("compile", runtime.compile, rule)


def _knobs(runtime: Runtime, system: System) -> None:
    """Knobs that another field takes out of force."""
    for name in ("cxx", "cxx_level"):
        if getattr(runtime, name) != "default" and runtime.compile not in ("inductor", None):
            refuse(name, getattr(runtime, name), "only compile = 'inductor' writes C++")
    if runtime.cxx == "clang++" and system.omp_runtime != "libiomp5":
        rule = "its OpenMP would be a second one beside torch's: omp_runtime = 'libiomp5' is needed"
        refuse("cxx", runtime.cxx, rule)
    if system.affinity != "default" and system.cores is not None:
        refuse("cores", system.cores, f"affinity = {system.affinity!r} says how many")
    if system.numa_policy == "one_node" and system.affinity in ("one_socket", "scattered"):
        refuse("affinity", system.affinity, "numa_policy = 'one_node' has the CPUs of one node")
    if system.huge_pages == "madvise" and not system.allocator.startswith("glibc"):
        rule = f"glibc asks for them, and allocator = {system.allocator!r} takes its place"
        refuse("huge_pages", system.huge_pages, rule)


def _pinning(training: Training, system: System) -> None:
    """OpenMP binds the thread that starts a loader's threads, and they inherit its one place."""
    if system.pinning != "none" and training.loader_workers:
        rule = f"pinning = {system.pinning!r} would put them on the CPU of the first compute thread"
        refuse("loader_workers", training.loader_workers, rule)
