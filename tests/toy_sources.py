"""Small C sources in two files, with what the engine's have: loops, sums, calls between files."""

import shutil
import subprocess
import sys

from cputrain.engines.native_.knobs.compiler import NativeCompiler
from cputrain.experiment import Experiment
from cputrain.machine import library_search

NATIVE = Experiment().but(engine="native", attention_backend="manual")
SOURCES = {
    "sum.h": "float sum_of(const float *x, int n);\nfloat third(float x);\n",
    "sum.c": """#include "sum.h"
float sum_of(const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}
float third(float x) { return x / 3; }
""",
    "loops.c": """#include "sum.h"
#include <omp.h>
void scale(float *x, int n, float by)
{
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < n; i += 64)
        for (int j = i; j < i + 64; j++)
            x[j] = x[j] * by + 1;
}
float thirds(float x) { return third(x) + third(x + 1); }
int threads(void) { return omp_get_max_threads(); }
void *openmp(void) { return (void *)omp_get_max_threads; }
""",
}


def written(folder, **files):
    """The sources in `folder`, which is made; `files` replace or add some, by their stem."""
    folder.mkdir(parents=True)
    for name, text in (SOURCES | {f"{stem}.c": text for stem, text in files.items()}).items():
        (folder / name).write_text(text)
    return folder


def asking(cc="gcc", level="O2", **changes):
    runtime = "libiomp5" if cc == "clang" else "libgomp"
    return NATIVE.but(cc=cc, cc_level=level, **{"omp_runtime": runtime, **changes})


def why_no(cc):
    """Why nothing can be built with `cc` here; None where it can."""
    try:
        if cc == "clang":
            library_search.find("libiomp5")  # asv's environment may be going to bring it
    except library_search.Missing as missing:
        return str(missing)
    return NativeCompiler().why_not(asking(cc, lto=True))


COMPILERS = [cc for cc in ("gcc", "clang") if shutil.which(cc) and why_no(cc) is None]


def in_process(program, *words, **env):
    """What a Python program of its own prints, as it must be for what a library does on loading."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
