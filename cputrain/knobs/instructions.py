"""The most that the libraries may use of the CPU's instructions: a cap for each library.

torch's own loops, oneDNN and NumPy heed their caps on every x86 CPU. MKL heeds
MKL_ENABLE_INSTRUCTIONS on Intel's CPUs alone; on AMD's it has a path of its own, of AVX2, which
MKL_CBWR=AVX2 does not change (it says AUTO then) and MKL_CBWR=COMPATIBLE replaces by one of SSE2.
OpenBLAS takes the kernels of a processor of that time, for which it has to be built with all.
Inductor asks torch which vectors to write, and its compiler is told by `inductor`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain.knobs import instruction_sets
from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import isa, mapped, reading

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

NATIVE = "native"
SILENT = "it does not say"
OTHER_MAKE = "Intel(R) Architecture processors"
"""What MKL calls a CPU that is not Intel's, whatever it uses of it."""
ABOVE_AVX2 = (
    *("X86_V4", "AVX512_ICL", "AVX512_SPR"),
    *("AVX512F", "AVX512CD", "AVX512_SKX", "AVX512_CLX", "AVX512_CNL"),
)
"""NumPy's names of what is above AVX2: since 2.4, and before. Those that a build has not are
left alone, with a warning that Python shows nobody."""
ABOVE_BASELINE = (*ABOVE_AVX2, "X86_V3", "AVX2", "FMA3", "F16C", "AVX")


@dataclass(frozen=True)
class Cap:
    """One level: what the CPU has to have, what the libraries are told, and what they answer."""

    rung: str
    environment: dict[str, str]
    aten: str
    onednn: str
    openblas: str
    numpy: tuple[str, ...]


CAPS = {
    "avx2": Cap(
        rung="avx2",
        environment={
            "ATEN_CPU_CAPABILITY": "avx2",
            "ONEDNN_MAX_CPU_ISA": "AVX2",
            "MKL_ENABLE_INSTRUCTIONS": "AVX2",
            "OPENBLAS_CORETYPE": "Haswell",
            "NPY_DISABLE_CPU_FEATURES": " ".join(ABOVE_AVX2),
        },
        aten="AVX2",
        onednn="AVX2",
        openblas="Haswell",
        numpy=ABOVE_AVX2,
    ),
    "baseline": Cap(
        rung="sse4_2",
        environment={
            "ATEN_CPU_CAPABILITY": "default",
            "ONEDNN_MAX_CPU_ISA": "SSE41",
            "MKL_CBWR": "COMPATIBLE",
            "OPENBLAS_CORETYPE": "Nehalem",
            "NPY_DISABLE_CPU_FEATURES": " ".join(ABOVE_BASELINE),
        },
        aten="DEFAULT",
        onednn="SSE4.1",
        openblas="Nehalem",
        numpy=ABOVE_BASELINE,
    ),
}
"""By system.instruction_set. None may be above the hardware: torch would take it at its word."""


class Instructions(Knob):
    """The most that the libraries may use of the CPU's instructions. Engines add `reports`."""

    def why_not(self, experiment: Experiment, root: Path = reading.ROOT) -> str | None:
        """The instructions that the CPU lacks; avx2 where native is no more is a valid cell."""
        cap = CAPS.get(experiment.system.instruction_set)
        return isa.why_not(cap.rung, root) if cap else None

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        cap = CAPS.get(experiment.system.instruction_set)
        return dict(cap.environment) if cap else {}

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        level = experiment.system.instruction_set
        return [] if level == NATIVE else in_force(level, self.reports(experiment, readings))

    def reports(self, experiment: Experiment, readings: dict[str, Any]) -> dict[str, Any]:
        """What the engine's libraries say of themselves, by library: see `in_force`."""
        return {}


def in_force(level: str, reports: dict[str, Any]) -> list[Check]:
    """What the libraries say of themselves, held against the cap `level`.

    A library that does not say what it uses passes, and its check tells that it is silent.

    Args:
        reports: by library: `aten`, `onednn`, `ipex`, `mkl` and `mkl_mode` (a text, None for
            silent), `openblas` (of each), `numpy` (the features that it found and may use).
    """
    from cputrain.knobs.inforce import Check

    cap = CAPS[level]
    rules: dict[str, tuple[str, str, Callable[[Any], bool]]] = {
        "aten": ("instructions of torch's loops", cap.aten, lambda value: value == cap.aten),
        "onednn": (
            "instructions of oneDNN",
            cap.onednn,
            lambda value: value.removeprefix("Intel ") == cap.onednn,
        ),
        "ipex": ("instructions of IPEX's loops", cap.aten, lambda value: value == cap.aten),
        "ipex_onednn": ("instructions of IPEX's oneDNN", cap.onednn, lambda f: f == cap.onednn),
        "openblas": (
            "kernels of OpenBLAS",
            cap.openblas,
            lambda value: set(value) == {cap.openblas},
        ),
        "numpy": (
            "instructions of NumPy above its baseline",
            f"none above {level}",
            lambda value: not set(value) & set(cap.numpy),
        ),
    }
    if level == "baseline":
        expected = cap.environment["MKL_CBWR"]
        rules["mkl_mode"] = ("code path of MKL", expected, lambda value: value == expected)
    else:
        rules["mkl"] = ("code path of MKL", "AVX2", lambda value: "AVX-512" not in value)
    checks = []
    for library, (name, expected, holds) in rules.items():
        if library in reports:
            value = None if reports[library] == OTHER_MAKE else reports[library]
            checks.append(
                Check(name, expected, SILENT, True)
                if value is None
                else Check(name, expected, value, holds(value))
            )
    return checks


def openblas(readings: dict[str, Any]) -> dict[str, Any]:
    """What each OpenBLAS that is loaded says, as threadpoolctl tells it."""
    pools = [pool for pool in readings["threadpools"] if pool["internal_api"] == "openblas"]
    return {"openblas": [pool["architecture"] for pool in pools]}


def beside() -> dict[str, Any]:
    """What MKL and oneDNN say where they were loaded beside the engine's own library."""
    reports: dict[str, Any] = {}
    for path in mapped.libraries("libmkl_rt"):
        reports |= instruction_sets.mkl(ctypes.CDLL(path))
    for path in mapped.libraries("libdnnl"):
        reports["onednn"] = instruction_sets.onednn(ctypes.CDLL(path))
    return reports
