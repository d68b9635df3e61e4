"""The compilers that are here, what to install where one is not, and clang's way to OpenMP.

Standard library only.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from cputrain.machine import library_search

INSTALL = {
    "gcc": "apt install gcc (Fedora: dnf install gcc)",
    "g++": "apt install g++ (Fedora: dnf install gcc-c++)",
    "clang": "apt install clang (Fedora: dnf install clang)",
    "clang++": "apt install clang (Fedora: dnf install clang)",
}
HEADER = "apt install libomp-dev (Fedora: dnf install libomp-devel)"
PYTHON_HEADERS = "apt install python3-dev (Fedora: dnf install python3-devel)"
BINUTILS = "apt install binutils (Fedora: dnf install binutils)"
MARCH = {"native": "", "avx2": "x86-64-v3", "baseline": "x86-64-v2"}
"""-march by system.instruction_set, where that is below native."""
INTEL = "libiomp5"
PASSED_ON = ("PATH", "HOME", "TMPDIR")


def environment() -> dict[str, str]:
    """A compiler's environment: nothing that adds folders to search or libraries to preload."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"LC_ALL": "C"}


def is_here(program: str) -> bool:
    """Whether it is on PATH."""
    return shutil.which(program) is not None


def python_header() -> Path:
    """This interpreter's Python.h, or where it would be: distributions have it in another package.

    Virtual environments have that of the interpreter that they were made from.
    """
    return Path(sysconfig.get_path("include"), "Python.h")


def first_error(output: str) -> str:
    """The line of a compiler's output that says what is wrong; the first one where none does."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = (line for line in lines if re.search(r"\berror\b|undefined reference", line))
    return next(errors, lines[0] if lines else "it says nothing")


def run(command: Sequence[str], folder: Path) -> tuple[bool, str]:
    """Whether a compiler did what it was told in `folder`, and what it said."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return done.returncode == 0, done.stdout


@functools.cache
def version(program: str) -> str:
    """The first line of what `program` says of itself, such as "gcc (Debian 12.2.0-14) 12.2.0"."""
    words = [program, "--version"]
    done = subprocess.run(
        words, env=environment(), capture_output=True, text=True, errors="replace"
    )
    return (done.stdout.splitlines() or [""])[0]


@functools.cache
def native_architecture(program: str) -> str:
    """What -march=native is to `program` here, as it hands it on to itself and then records it.

    gcc writes the processor that it finds, "znver3"; clang leaves the word as it is.
    """
    words = [program, "-march=native", "-###", "-E", "-x", "c", os.devnull]
    done = subprocess.run(
        words, env=environment(), capture_output=True, text=True, errors="replace"
    )
    if "clang version" in done.stderr:
        return "native"
    # gcc tells what it was given, too
    architectures = re.findall(r"-march=([^\s\"']+)", done.stderr)
    return next((name for name in architectures if name != "native"), "native")


def openmp_header(program: str = "clang++") -> tuple[str, ...] | None:
    """What clang has to be told to find omp.h, which not every clang has; None where nothing is.

    Intel's wheel has the header beside its library; GCC's is not for clang.
    """
    if has_own_header(program):
        return ()
    try:
        prefix = library_search.find(INTEL).parent.parent
    except library_search.Missing:
        return () if library_search.expected(INTEL) else None
    places = (prefix / "opt/compiler/include", prefix / "include")
    folder = next((place for place in places if (place / "omp.h").exists()), None)
    return None if folder is None else ("-idirafter", str(folder))


@functools.cache
def has_own_header(program: str) -> bool:
    """Whether clang finds an omp.h by itself."""
    language = "c++" if program.endswith("++") else "c"
    words = [program, "-fopenmp", "-fsyntax-only", "-x", language, "-"]
    return not subprocess.run(words, input=b"#include <omp.h>", capture_output=True).returncode


def link_to_intel(folder: Path) -> None:
    """Put libiomp5 into `folder` under the one name that clang's linker looks for.

    At run time the preloaded file is the one.

    Raises:
        library_search.Missing: there is none.
    """
    link = folder / f"{INTEL}.so"
    link.unlink(missing_ok=True)
    link.symlink_to(library_search.find(INTEL))
