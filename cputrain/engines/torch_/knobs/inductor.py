"""The compiler of inductor's C++, its level, and the instructions that it may write.

Inductor has a setting for the compiler and none for its level, so it is given a script of ours
that passes everything on and adds what was asked at the end, where compilers heed it. The script
lies in the worker's folder of compiled code and is found by PATH under a name that says all that
it adds: inductor keeps headers, compiled beforehand, by the words of the command. The libraries
record the switches that they were built with, which is what the checks read.

clang writes OpenMP for LLVM's runtime and never for libgomp. With torch on libgomp that would be
a second runtime with threads of its own, so clang++ goes with omp_runtime = "libiomp5", whose
one set of threads serves both.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain import paths
from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import built, library_search, mapped
from cputrain.machine.compilers import (
    HEADER,
    INSTALL,
    MARCH,
    PYTHON_HEADERS,
    is_here,
    link_to_intel,
    openmp_header,
    python_header,
)
from cputrain.machine.reading import Unknown

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

OWN = "g++"
"""Inductor's own choice on Linux, the only one without CXX."""
IN_WORDS = re.compile(r"[\s'\"\\]")
"""What takes a path apart that is not quoted: torch 2.13 quotes the folders of headers, and not
those of libraries."""
FOLDER = "compiler"
"""Of the script, below TORCHINDUCTOR_CACHE_DIR."""


class InductorCompiler(Knob):
    """The compiler of inductor's C++."""

    def why_not(self, experiment: Experiment) -> str | None:
        """Also where inductor is to take its own choice, and that is not there."""
        if experiment.runtime.compile != "inductor":
            return None
        cxx = _cxx(experiment)
        if not is_here(cxx):
            missing = f"inductor's C++ compiler, {cxx}, is not installed"
            return f"{missing}: {INSTALL[cxx]}"
        if cxx == "clang++" and openmp_header() is None:
            return f"clang++ has no omp.h: {HEADER}"
        header = python_header()
        if not header.exists():
            missing = f"inductor's C++ includes Python.h, and {header} is not there"
            return f"{missing}: {PYTHON_HEADERS}"
        folder = next(iter(library_search.prefixes()), paths.PROJECT)
        if IN_WORDS.search(str(folder)):
            said = f"inductor cannot link torch's libraries in {folder}, for its spaces or quotes"
            return f"{said}: clone into a folder without them"
        return None

    def before_work(self, experiment: Experiment, placement: Placement) -> None:
        """Write the script, and make inductor use it."""
        name = script_name(experiment)
        if name is None:
            return
        import torch._inductor.config as inductor

        folder = _cache() / FOLDER
        _write(folder, name, experiment)
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
        # The first is a compiler that conda would download.
        inductor.cpp.cxx = (None, name)

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        if script_name(experiment) is None:
            return []
        folder = str(_cache().resolve())
        loaded = [Path(path) for path in mapped.files() if path.startswith(f"{folder}/")]
        return in_force(experiment, [path for path in loaded if path.suffix == ".so"])


def script_name(experiment: Experiment) -> str | None:
    """What inductor calls instead of its compiler: "g++-O1"; None where nothing is asked."""
    runtime, march = experiment.runtime, MARCH[experiment.system.instruction_set]
    if runtime.compile != "inductor":
        return None
    level = "" if runtime.cxx_level == "default" else runtime.cxx_level
    if not level and not march and runtime.cxx == "default":
        return None
    return "-".join(filter(None, [_cxx(experiment), level, march]))


def in_force(experiment: Experiment, loaded: list[Path]) -> list[Check]:
    """Whether every library that inductor built and loaded was built as asked, by its own record.

    Args:
        loaded: the libraries' files.
    """
    from cputrain.knobs.inforce import Check, same

    try:
        records = [built.read(path) for path in loaded]
    except Unknown as unknown:
        return [Check("compiled code's own record", "readable", str(unknown), False)]
    cxx, level = _cxx(experiment), experiment.runtime.cxx_level
    compilers = sorted({record.compiler for record in records})
    checks = [Check("compiler of the compiled code", [cxx], compilers, compilers == [cxx])]
    if level != "default":
        # No switch at all is -O0, and -O is -O1.
        levels = {switch for record in records for switch in record.last(r"-(O\w*)")}
        levels = {{"": "O0", "O": "O1"}.get(switch, switch) for switch in levels}
        checks.append(same("level of the compiled code", [level], sorted(levels)))
    if march := MARCH[experiment.system.instruction_set]:
        architectures = sorted(
            {switch for record in records for switch in record.last(r"-march=(.*)")}
        )
        checks.append(same("architecture of the compiled code", [march], architectures))
        wide = sorted(
            {switch for record in records for switch in record.last(r"-m(avx512\w+)") if switch}
        )
        checks.append(same("AVX-512 switches of the compiled code", [], wide))
    if cxx == "clang++":
        second = mapped.libraries("libomp")
        checks.append(same("a second OpenMP runtime, LLVM's own", [], second))
    return checks


def _cxx(experiment: Experiment) -> str:
    return OWN if experiment.runtime.cxx == "default" else experiment.runtime.cxx


def _cache() -> Path:
    return Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])


def _write(folder: Path, name: str, experiment: Experiment) -> None:
    """The script `name` in `folder`, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    cxx, level = _cxx(experiment), experiment.runtime.cxx_level
    march = MARCH[experiment.system.instruction_set]
    words = ["-frecord-gcc-switches"]
    words += [f"-{level}"] if level != "default" else []
    words += [f"-march={march}"] if march else []
    if cxx == "clang++":
        link_to_intel(folder)
        words += ["-fopenmp=libiomp5", f"-L{folder}", *(openmp_header() or ())]
    program = shutil.which(cxx) or cxx
    script = folder / name
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(program)} "$@" {shlex.join(words)}\n')
    script.chmod(0o755)
