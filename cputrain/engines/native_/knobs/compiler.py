"""The compiler of the native engine, its level, its target and its link-time optimization.

In force by what the compiler left in the library that is mapped: its name, the switches that it
was given, and the instructions that it wrote. What was executed lies beside the library
(`cc.build`).
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain.engines.native_ import library_build, words
from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import built, compilers, isa, library_search, mapped, vectors
from cputrain.machine.reading import Unknown

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

NAMES = {"g++": "gcc", "clang++": "clang"}
"""By the name that `machine.built` has for what either leaves."""
LINK_TIME = {"gcc": r"-(fltrans)", "clang": r"-(flto(?:=.*)?)"}
"""A switch that only link-time optimization has: gcc's second pass runs with -fltrans, and clang's
objects hold no code that could be linked without it."""
VECTORISES = ("O3", "Ofast")
"""Levels at which both compilers write vectors wherever they can; gcc's -O2 seldom does."""
FORBIDDEN = {"x86-64": ("ymm", "zmm"), "x86-64-v2": ("ymm", "zmm"), "x86-64-v3": ("zmm",)}
"""Registers that a level of x86-64 does not have."""
TRIAL = """#include <math.h>
#include <omp.h>
#include <stdlib.h>
float twice(const float *x, int n) {
  float sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(runtime)
  for (int i = 0; i < n; i++) sum += sqrtf(x[i]) * omp_get_max_threads();
  return sum;
}
"""


class NativeCompiler(Knob):
    """The compiler of the native engine."""

    def why_not(self, experiment: Experiment) -> str | None:
        """It is not here, lacks something that it needs, or refuses a switch."""
        cc = experiment.runtime.cc
        if not compilers.is_here(cc):
            return f"{cc} is not installed: {compilers.INSTALL[cc]}"
        if words.is_x86() and not compilers.is_here(vectors.PROGRAM):
            return f"{vectors.PROGRAM} is not installed: {compilers.BINUTILS}"
        if cc == "clang":
            if compilers.openmp_header(cc) is None:
                return f"clang has no omp.h: {compilers.HEADER}"
            if library_search.why_not(compilers.INTEL) is not None:
                return library_search.why_not(compilers.INTEL)
            if _is_to_come(compilers.INTEL):
                return None  # nothing to link with before asv's environment is built
        if library_build.place(experiment).exists():
            return None  # it has built the library already
        return _refusal(experiment)

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        loaded = [Path(path) for path in mapped.libraries(library_build.NAME)]
        return [*in_force(experiment, loaded), *small_numbers(readings)]


def small_numbers(readings: dict[str, Any]) -> list[Check]:
    """No thread flushes denormal numbers to zero, which a library may turn on as it is loaded."""
    from cputrain.knobs.inforce import same

    flushed = readings.get("flush_to_zero")
    return [] if flushed is None else [same("denormal numbers flushed to zero", False, flushed)]


def in_force(experiment: Experiment, loaded: list[Path]) -> list[Check]:
    """Whether the native engine's library was built as asked, by its own record and content.

    Args:
        loaded: the libraries of that name that are mapped; there has to be one.
    """
    from cputrain.knobs.inforce import Check, same

    try:
        (library,) = loaded
    except ValueError:
        paths = [str(path) for path in loaded]
        return [Check("libraries of the native engine", "one", paths, False)]
    try:
        record = built.read(library)
    except Unknown as unknown:
        return [Check("the native engine's own record", "readable", str(unknown), False)]
    runtime = experiment.runtime
    # No switch at all is -O0, and -O is -O1.
    levels = [{"": "O0", "O": "O1"}.get(level, level) for level in record.last(r"-(O\w*)")]
    march = words.architecture(experiment)
    recorded = compilers.native_architecture(runtime.cc) if march == "native" else march
    link_time = any(record.last(LINK_TIME[runtime.cc]))
    return [
        same("compiler of the native engine", runtime.cc, NAMES[record.compiler]),
        same("level of the native engine", [runtime.cc_level], levels),
        same("architecture of the native engine", [recorded], record.last(r"-march=(.*)")),
        same("link-time optimization of the native engine", runtime.lto, link_time),
        *instructions(experiment, library),
    ]


def instructions(experiment: Experiment, library: Path) -> list[Check]:
    """The library's vector instructions, held against what the target has; x86 only."""
    from cputrain.knobs.inforce import Check

    if not words.is_x86():
        return []
    march = words.architecture(experiment)
    forbidden = FORBIDDEN.get(march, ())
    wide = march not in ("x86-64", "x86-64-v2") and isa.why_not("avx2") is None
    needed: tuple[str, ...] = ("ymm", "zmm") if wide else ("xmm_packed",)
    if experiment.runtime.cc_level not in VECTORISES:
        needed = ()
    expected = [f"no {name}" for name in forbidden]
    expected += [f"some {' or '.join(needed)}"] if needed else []
    name = "vector_instructions"
    try:
        counts = vectors.count(library)
    except Unknown as unknown:
        return [Check(name, expected, str(unknown), False)]
    ok = not any(counts[register] for register in forbidden)
    ok = ok and (not needed or any(counts[register] for register in needed))
    return [Check(name, ", ".join(expected) or "any", counts, ok)]


def _is_to_come(name: str) -> bool:
    try:
        library_search.find(name)
    except library_search.Missing:
        return True
    return False


def _refusal(experiment: Experiment) -> str | None:
    """What the compiler says against the experiment's switches, tried on a small source."""
    runtime = experiment.runtime
    trial = experiment.but(cc_level="Ofast")  # which has all that the others have
    error = _tried(runtime.cc, words.compiling(trial), words.linking(trial))
    if error is None:
        return None
    if runtime.lto and _refusal(experiment.but(lto=False)) is None:
        return f"{runtime.cc} cannot optimize at link time: {error}"
    return f"{runtime.cc} cannot build a library with OpenMP: {error}"


@functools.cache
def _tried(cc: str, compiling: tuple[str, ...], linking: tuple[str, ...]) -> str | None:
    """The first error; None without."""
    with tempfile.TemporaryDirectory(prefix="cputrain-") as folder:
        place = Path(folder)
        (place / "trial.c").write_text(TRIAL)
        if cc == "clang":
            compilers.link_to_intel(place)
        commands = (
            [cc, *compiling, "-c", "trial.c", "-o", "trial.o"],
            [cc, *linking, "trial.o", *words.LIBRARIES, "-o", "trial.so"],
        )
        for command in commands:
            ok, output = compilers.run(command, place)
            if not ok:
                return compilers.first_error(output)
    return None
