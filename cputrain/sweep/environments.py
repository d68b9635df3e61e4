"""asv's environments: the main one for every sweep, and IPEX's where --ipex asks for it."""

from __future__ import annotations

import shutil

from cputrain.errors import RunError
from cputrain.paths import PROJECT
from cputrain.run import recording, stacks
from cputrain.sweep import asvenv, plan
from cputrain.sweep.progress import Progress

Asvs = dict[str, asvenv.Asv]
"""How asv is called, by environment of `stacks`."""
BUILD_S = {stacks.MAIN: 100.0, stacks.IPEX: 150.0}
"""Seconds that a build takes where wheels come quickly."""
CPU_GB, CUDA_GB = 1.6, 7.6
"""What IPEX's environment takes with a torch for CPUs alone, and with the one of pip's own index.
While pip installs it, its downloads lie beside it."""
WHILE_BUILDING = 1.4


def needed(mode: str, machine: str, suites: list[plan.Planned]) -> Asvs:
    """How asv is called, by environment: the main one, and others that a suite needs."""
    wanted = dict.fromkeys((stacks.MAIN, *(planned.stack for planned in suites)))
    return {stack: asvenv.Asv(mode, machine, stack) for stack in wanted}


def building_s(asvs: Asvs) -> float:
    """Seconds that the environments take which are not there yet."""
    return sum(BUILD_S[stack] for stack, asv in asvs.items() if not asv.stands())


def offer(
    suites: list[plan.Planned], mode: str, machine: str, free_bytes: int | None = None
) -> str:
    """One line: what --ipex would add to a sweep, and the disk that it needs.

    Args:
        suites: what it would add; without any that run here the line is empty.
        mode: full or quick.
        machine: asv's name of this machine.
        free_bytes: of the disk; asked where left out.
    """
    here = [cell for planned in suites for cell in planned.cells if cell.why_not is None]
    if not here:
        return ""
    adds = f"--ipex adds {len(here)} cell{'s' if len(here) > 1 else ''} in an environment"
    if has_ipex(asvenv.Asv(mode, machine, stacks.IPEX)):
        return f"{adds} that is built"
    free_gb = (shutil.disk_usage(PROJECT).free if free_bytes is None else free_bytes) / 1e9
    size = f"{CPU_GB:g} GB, or about {CUDA_GB:.0f} GB where pip finds only CUDA builds of torch"
    short = free_gb < WHILE_BUILDING * CUDA_GB
    return f"{adds} of its own: {size}" + (f"; {free_gb:.1f} GB are free" if short else "")


def has_ipex(asv: asvenv.Asv) -> bool:
    """Whether pip has installed IPEX there; a build that was killed leaves an empty environment."""
    packages = asv.python().parent.parent.glob("lib/python*/site-packages")
    return any((folder / "intel_extension_for_pytorch").is_dir() for folder in packages)


def ipex_or_not(asvs: Asvs, offline: bool, progress: Progress) -> None:
    """IPEX's environment where `asvs` has it; where it cannot be, one line, and `asvs` without."""
    if stacks.IPEX not in asvs:
        return
    try:
        build_ipex(asvs[stacks.IPEX], offline, progress)
    except RunError as error:
        del asvs[stacks.IPEX]
        progress.failed += 1
        progress.say(f"IPEX's cells are left out: {error}")


def build_ipex(asv: asvenv.Asv, offline: bool, progress: Progress) -> None:
    """IPEX's environment, as this commit asks for it.

    Raises:
        RunError: it cannot be on this machine, the disk is too full, or pip failed.
    """
    if (reason := stacks.why_no_ipex()) is not None:
        raise RunError(reason)
    if asv.is_built(recording.commit()[0] or ""):
        return
    known = has_ipex(asv)
    if not known:
        size = CPU_GB if offline or asvenv.pip_environment(offline) else CUDA_GB
        require_free(size)
        progress.say(
            f"asv builds IPEX's environment from {stacks.REQUIREMENTS[stacks.IPEX]}: "
            f"2-5 minutes, {size:g} GB"
        )
    try:
        asv.build(offline)
    except RunError:
        if not known:  # gigabytes of what is of no use, and the disk may be full
            shutil.rmtree(asv.python().parent.parent, ignore_errors=True)
        raise


def require_free(size_gb: float, free_bytes: int | None = None) -> None:
    """Raise RunError where the disk does not hold an environment of this size and its downloads."""
    free_gb = (shutil.disk_usage(PROJECT).free if free_bytes is None else free_bytes) / 1e9
    needed = WHILE_BUILDING * size_gb
    if free_gb < needed:
        raise RunError(
            f"IPEX's environment needs {size_gb:g} GB, {needed:.1f} while it is built, and "
            f"{free_gb:.1f} GB are free in {PROJECT}"
        )
