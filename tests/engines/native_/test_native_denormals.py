"""Loading the native engine's library leaves denormal numbers alone, whatever the level."""

import json
import subprocess

import pytest
from toy_sources import COMPILERS, asking, in_process, why_no, written

from cputrain.engines.native_ import library_build
from cputrain.machine import compilers, library_search

needs_gcc = pytest.mark.skipif("gcc" not in COMPILERS, reason=str(why_no("gcc")))
each_compiler = pytest.mark.parametrize(
    "cc",
    [
        pytest.param(cc, marks=pytest.mark.skipif(cc not in COMPILERS, reason=str(why_no(cc))))
        for cc in ("gcc", "clang")
    ],
)


@pytest.fixture
def sources(own_root):
    return written(own_root / "src")


def record(path):
    return json.loads((path.parent / library_build.RECORD).read_text())


DENORMAL = """
import ctypes, sys
before, scale = 2.0**-1060, ctypes.c_double(2.0**-10)
library = ctypes.CDLL(sys.argv[1])
assert hasattr(library, "thirds")
print(before * scale.value != 0)
"""


@each_compiler
@pytest.mark.parametrize("level", ["O0", "O3", "Ofast"])
@pytest.mark.parametrize("lto", [False, True], ids=["", "lto"])
def test_loading_it_leaves_denormal_numbers_alone(sources, cc, level, lto):
    path = library_build.library(asking(cc, level, lto=lto), sources)
    assert in_process(DENORMAL, path, **preloaded(cc)).strip() == "True"


@needs_gcc
def test_a_library_linked_with_ofast_would_be_found_out(sources):
    """What the test above looks for is real: this is how gcc before 13 links."""
    path = library_build.library(asking(level="Ofast"), sources)
    words = record(path)["commands"][0]
    other = path.with_name("other.so")
    plain = ["gcc", "-shared", "-fPIC", "-fopenmp", *map(str, sources.glob("*.c")), "-o", other]
    subprocess.run([*plain, "-Ofast"], check=True)
    if in_process(DENORMAL, other).strip() == "True":
        pytest.skip(f"{compilers.version('gcc')} links no such start file into libraries")
    assert "-Ofast" in words


def preloaded(cc):
    return {"LD_PRELOAD": str(library_search.find("libiomp5"))} if cc == "clang" else {}
