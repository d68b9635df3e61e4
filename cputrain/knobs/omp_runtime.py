"""Which OpenMP library runs the engine's threads.

torch brings GNU's libgomp. Intel's libiomp5 has GNU's entry points as well, so preloaded it gets
torch's calls, and MKL's and compiled code's with them. libgomp stays mapped, as torch is linked
with it, and starts no thread; but it still reads its variables when it is loaded, and OMP_PROC_BIND
makes it bind the initial thread (see `pinning`). So it is with the native engine's library where
gcc made it; clang's is linked with libiomp5 alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import libraries, mapped, openmp, reading

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

INTEL = "libiomp5"


class OmpRuntime(Knob):
    """Which OpenMP library runs the engine's threads: GNU's libgomp, or Intel's libiomp5."""

    def why_not(self, experiment: Experiment) -> str | None:
        return libraries.why_not(INTEL) if experiment.system.omp_runtime == INTEL else None

    def preload(self, experiment: Experiment) -> tuple[str, ...]:
        if experiment.system.omp_runtime != INTEL:
            return ()
        return (str(libraries.find(INTEL)),)

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        native = experiment.runtime.engine == "native"
        caller = "the native engine" if native else "torch"
        if experiment.system.omp_runtime == INTEL:
            checks = intel_in_force(libraries.find(INTEL), caller)
        else:
            # A torch without OpenMP has threads of its own, whatever is asked here.
            called = native or bool(readings.get("openmp"))
            checks = gnu_in_force(caller, called=called)
        return checks + (own_binding(readings) if native else [])


def own_binding(readings: dict[str, Any]) -> list[Check]:
    """The native engine's library itself says who serves it."""
    from cputrain.knobs.inforce import same

    name = "OpenMP runtime that the native engine is bound to"
    return [same(name, openmp.serving().path, readings.get("openmp"))]


def gnu_in_force(caller: str = "torch", *, called: bool, root: Path = reading.ROOT) -> list[Check]:
    """No libiomp5 is mapped and, where `caller` calls OpenMP at all, it calls libgomp."""
    from cputrain.knobs.inforce import Check, same

    checks = [same(f"{INTEL} mapped", [], mapped.libraries(INTEL, root=root))]
    if called:
        runtime = openmp.serving()
        right = not runtime.is_kmp
        checks.append(Check(f"OpenMP runtime that {caller} calls", "libgomp", runtime.path, right))
    return checks


def intel_in_force(asked: Path, caller: str = "torch") -> list[Check]:
    """Parallel regions run in the file `asked`, and torch takes its thread count from there."""
    from cputrain.knobs.inforce import same

    runtime = openmp.serving()
    name = f"OpenMP runtime that {caller} calls"
    right = same(name, str(asked.resolve()), runtime.path)
    if right.ok and caller == "torch":
        import torch

        follows = openmp.follows(runtime, torch.get_num_threads)
        return [right, same(f"torch's thread count is {INTEL}'s", True, follows)]
    return [right]
