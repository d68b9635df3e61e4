"""What the native engine's compiler is told. Standard library only.

-Ofast is for the compiler and not for the linker: told there too, gcc before 13 and clang before
19 link a start file into the library that makes the whole process flush denormal numbers to zero
as soon as it is loaded. With gcc's link-time optimization the files' own level counts where the
linker is told none (gcc.gnu.org, -flto), -Ofast with it. clang's linker would take -O2 then; its
files keep their arithmetic's rules in themselves, so -O3 is its -Ofast.
"""

from __future__ import annotations

import platform

from cputrain.experiment import Experiment
from cputrain.machine import compilers

X86 = ("x86_64", "AMD64")
RECORD = "-frecord-gcc-switches"
NO_REPLACING = "-fno-semantic-interposition"
"""gcc leaves calls between files alone otherwise, as another library might replace the function;
clang and -Ofast take it for granted that none does."""


def is_x86() -> bool:
    """Whether this machine's compilers write x86-64."""
    return platform.machine() in X86


def architecture(experiment: Experiment) -> str:
    """The value of -march: "native", a level of x86-64, or "" for the compiler's own default."""
    if experiment.runtime.cc_target == "generic":
        return "x86-64" if is_x86() else ""
    return compilers.MARCH[experiment.system.instruction_set] or "native"


def shared(experiment: Experiment) -> tuple[str, ...]:
    """The words for compiling and for linking alike."""
    runtime, march = experiment.runtime, architecture(experiment)
    openmp = "-fopenmp=libiomp5" if runtime.cc == "clang" else "-fopenmp"
    words = ["-fPIC", NO_REPLACING, openmp, RECORD]
    words += [f"-march={march}"] if march else []
    words += ["-flto"] if runtime.lto else []
    return tuple(words)


def compiling(experiment: Experiment) -> tuple[str, ...]:
    """The words that make an object of a source."""
    header = compilers.openmp_header("clang") or () if experiment.runtime.cc == "clang" else ()
    return ("-std=c11", f"-{experiment.runtime.cc_level}", *shared(experiment), *header)


def linking(experiment: Experiment) -> tuple[str, ...]:
    """The words that make the library of the objects; its libraries are `LIBRARIES`."""
    runtime = experiment.runtime
    level = {"Ofast": "O3"}.get(runtime.cc_level, runtime.cc_level)
    words = [f"-{level}", "-L."] if runtime.cc == "clang" else []
    return ("-shared", COMPLETE, *words, *shared(experiment))


LIBRARIES = ("-lm",)
COMPLETE = "-Wl,-z,defs"
"""A function that is nowhere is an error now, and not when it is called."""


def of_key(experiment: Experiment) -> tuple[str, ...]:
    """The words that decide what comes out: without places on this machine."""
    compile_words = [word for word in compiling(experiment) if not word.startswith("/")]
    return (experiment.runtime.cc, *compile_words, "|", *linking(experiment), *LIBRARIES)
