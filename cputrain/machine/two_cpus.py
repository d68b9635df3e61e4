"""Two CPUs of a mask at work at once: what tells where a hypervisor has put them.

It is read in virtual machines alone: elsewhere no CPU is moved, and a clock that falls while a CPU
waits would look as if one had been.

Standard library only.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cputrain.machine import cpu as processor
from cputrain.machine.reading import ROOT, Unknown


def ends(cpus: Sequence[int]) -> list[int]:
    """The two CPUs of a mask that are looked at; none of a mask of one."""
    return [cpus[0], cpus[-1]] if len(cpus) > 1 else []


def reading(
    name: str, cpus: Sequence[int], measure: Callable[[int, int], float], root: Path = ROOT
) -> dict[str, Any]:
    """For a record: what is measured, by this name, or None and "<name>_reason".

    Args:
        cpus: of a mask.
        measure: of two CPUs; it may raise Unknown.
        root: where /proc is.
    """
    try:
        if not is_guest(root):
            raise Unknown("no hypervisor is here that could move a CPU")
        if not (two := ends(cpus)):
            raise Unknown("the mask has one CPU")
        return {name: round(measure(*two), 2)}
    except Unknown as unknown:
        return {name: None, f"{name}_reason": str(unknown)}


@functools.cache
def is_guest(root: Path = ROOT) -> bool:
    """Whether a hypervisor is here, by x86's flags. Raises Unknown on others, which have none."""
    return "hypervisor" in processor.info(root, "flags").split()


def run(*parts: tuple[int, Callable[[], bool]]) -> None:
    """Run functions at once, each in a thread that is bound to its CPU; the first starts first.

    Args:
        parts: CPU and function, which is false where it had to give up.

    Raises:
        Unknown: a CPU is not ours, or something else had one of them meanwhile.
    """
    failed: list[str] = []

    def bound(cpu: int, function: Callable[[], bool]) -> None:
        mask = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {cpu})  # of this thread alone
        except OSError as error:
            failed.append(f"CPU {cpu}: {error.strerror}")
        else:
            if not function():
                each = " or ".join(f"CPU {cpu}" for cpu, _ in reversed(parts))
                failed.append(f"something else had {each}")
            # The kernel has it for a moment after it was joined, and a check of all masks sees it.
            os.sched_setaffinity(0, mask)

    threads = [threading.Thread(target=bound, args=part, name="cpu", daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise Unknown(failed[0])
