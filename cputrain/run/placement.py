"""What an experiment's system settings mean on this machine: mask, threads, environment.

Standard library and msgspec only.
"""

from __future__ import annotations

import os
from pathlib import Path

from cputrain import environ, paths
from cputrain.engines import settings, specs
from cputrain.experiment import Experiment
from cputrain.machine import cpu, library_search, mask
from cputrain.machine.memory import available_memory
from cputrain.machine.reading import Unknown
from cputrain.machine.topology import TopologyError
from cputrain.model.memory_estimate import memory_bytes
from cputrain.record.process import Placement
from cputrain.run import stacks
from cputrain.worker.ranks import torchrun

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""The caller's variables that a worker sees; every other one is set by the experiment or absent."""


def place(experiment: Experiment) -> Placement:
    """The affinity mask and thread count that `experiment` means here.

    Raises:
        TopologyError: CPUs are asked that this process may not use or the machine has not.
    """
    return mask.place(experiment.system)


def why_not(experiment: Experiment, stack: str | None = None) -> str | None:
    """Why this machine cannot run `experiment`, or None where it can.

    Args:
        stack: the environment that is to run it (see `stacks`); this process's where left out.

    Raises:
        ExperimentError: the engine cannot take it, on any machine.
    """
    experiment = specs.settle(experiment)
    if (reason := stacks.why_elsewhere(experiment, stack)) is not None:
        return reason
    if (reason := stacks.why_not(experiment)) is not None:
        return reason
    try:
        place(experiment)
    except TopologyError as error:
        return str(error)
    if (reason := settings.why_not(experiment)) is not None:
        return reason
    if experiment.training.precision == "q8_torchao" and not _int8_is_exact():
        return f"torch's int8 product overflows on x86 CPUs without one of {', '.join(VNNI)}"
    need = memory_bytes(experiment).total
    try:
        free = available_memory()
    except Unknown as unknown:
        return f"free memory is unknown: {unknown}"
    if need > free:
        return f"needs about {need / 2**30:.1f} GiB of memory, {free / 2**30:.1f} GiB are free"
    return None


def why_not_beside(reference: Experiment, stack: str) -> str | None:
    """Why this machine cannot run `reference` beside a cell, or None where it can.

    Args:
        stack: the environment that runs the cell, and so what is beside it.
    """
    elsewhere = stacks.why_not_beside(reference, stack)
    return elsewhere or why_not(reference, stacks.of(reference))


def because_of_reference(reason: str | None) -> str | None:
    """Why a cell cannot run that is measured beside what cannot, for that reason."""
    return None if reason is None else f"its baseline cannot run here: {reason}"


VNNI = ("avx_vnni", "avx512_vnni", "amx_int8")
"""Instructions that add products of bytes in 32 bits; older ones saturate at 16 (oneDNN)."""


def _int8_is_exact(root: Path = Path("/")) -> bool:
    """Whether x86 has them; of other CPUs the worker finds out by trying."""
    try:
        has = cpu.info(root, "flags").split()
    except Unknown:
        return True
    return any(name in has for name in VNNI)


COMPILED = paths.STATE / "compiled"
"""Where workers keep compiled code; each has a folder of its own, so that none finds it warm."""


def environment(experiment: Experiment, placement: Placement) -> dict[str, str]:
    """The worker's whole environment: a few of the caller's variables, and the experiment's."""
    experiment, threads = specs.settle(experiment), str(placement.omp_threads)
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    env |= {
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONPATH": str(paths.PROJECT),
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        environ.ROOT: str(paths.ROOT),
    }
    if placement.threads > placement.physical_cores:
        # MKL caps its threads at the cores otherwise, and torch takes its own count from MKL.
        env["MKL_DYNAMIC"] = "FALSE"
    if libraries := library_search.settled():
        env[library_search.VARIABLE] = libraries  # so that the worker means the same files
    if preload := settings.preload(experiment):
        env["LD_PRELOAD"] = ":".join(preload)
    if placement.ranks:
        env |= torchrun.environment(placement)
    return env | settings.environment(experiment, placement)
