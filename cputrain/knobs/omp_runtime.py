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
from cputrain.machine import library_search, mapped, openmp, reading

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

INTEL = "libiomp5"


class OmpRuntime(Knob):
    """Which OpenMP library runs the engine's threads: GNU's libgomp, or Intel's libiomp5.

    Attributes:
        caller: who calls it, in the names of the checks.
    """

    caller = "the engine"

    def why_not(self, experiment: Experiment) -> str | None:
        return library_search.why_not(INTEL) if experiment.system.omp_runtime == INTEL else None

    def preload(self, experiment: Experiment) -> tuple[str, ...]:
        if experiment.system.omp_runtime != INTEL:
            return ()
        return (str(library_search.find(INTEL)),)

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        if experiment.system.omp_runtime == INTEL:
            return [intel_in_force(library_search.find(INTEL), self.caller)]
        return gnu_in_force(self.caller, called=self.is_called(readings))

    def is_called(self, readings: dict[str, Any]) -> bool:
        """Whether the engine calls OpenMP at all; otherwise its threads are its own."""
        return bool(readings.get("openmp"))


def gnu_in_force(caller: str, *, called: bool, root: Path = reading.ROOT) -> list[Check]:
    """No libiomp5 is mapped and, where `caller` calls OpenMP at all, it calls libgomp."""
    from cputrain.knobs.inforce import Check, same

    checks = [same(f"{INTEL} mapped", [], mapped.libraries(INTEL, root=root))]
    if called:
        runtime = openmp.serving()
        right = not runtime.is_kmp
        checks.append(Check(f"OpenMP runtime that {caller} calls", "libgomp", runtime.path, right))
    return checks


def intel_in_force(path: Path, caller: str) -> Check:
    """Parallel regions run in the file `path`."""
    from cputrain.knobs.inforce import same

    name = f"OpenMP runtime that {caller} calls"
    return same(name, str(path.resolve()), openmp.serving().path)
