"""The native engine's library: built once, by one process, by the asked command, and harmless."""

import ctypes
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import toy_sources
from toy_sources import COMPILERS, asking, in_process, why_no, written

from cputrain import paths
from cputrain.engines import EngineError, ahead
from cputrain.engines.native_ import library_build
from cputrain.machine import compilers

needs_gcc = pytest.mark.skipif("gcc" not in COMPILERS, reason=str(why_no("gcc")))


@pytest.fixture
def sources(own_root):
    return written(own_root / "src")


def record(path):
    return json.loads((path.parent / library_build.RECORD).read_text())


@needs_gcc
def test_it_is_built_once_and_its_commands_are_kept(sources):
    path = library_build.library(asking(), sources)
    first = path.stat().st_mtime_ns
    assert (
        library_build.library(asking(), sources) == path == library_build.place(asking(), sources)
    )
    assert path.stat().st_mtime_ns == first
    assert path.parent.parent == paths.STATE / "native"
    assert sorted(file.name for file in path.parent.iterdir()) == [library_build.RECORD, path.name]
    kept = record(path)
    *objects, link = kept["commands"]
    assert len(objects) == 2 and all("-c" in words and "-O2" in words for words in objects)
    assert "-shared" in link and kept["seconds"] > 0 and "gcc" in kept["compiler"]
    library = ctypes.CDLL(str(path))
    library.thirds.restype = ctypes.c_float
    library.thirds.argtypes = (ctypes.c_float,)
    assert library.thirds(3.0) == pytest.approx(7 / 3)


@needs_gcc
def test_whatever_it_depends_on_names_it(sources, monkeypatch):
    experiments = [
        asking(),
        asking(level="O3"),
        asking(lto=True),
        asking(cc_target="generic"),
        asking(instruction_set="avx2"),
    ]
    places = {library_build.place(experiment, sources) for experiment in experiments}
    assert len(places) == len(experiments)
    assert library_build.place(asking(omp_schedule="guided", threads=1), sources) in places
    before = library_build.place(asking(), sources)
    (sources / "sum.h").write_text("float sum_of(const float *, int);\nfloat third(float);\n")
    changed = library_build.place(asking(), sources)
    assert changed != before
    monkeypatch.setattr(compilers, "version", lambda program: "gcc 99")
    assert library_build.place(asking(), sources) not in (before, changed)


@needs_gcc
def test_a_library_for_this_processor_is_not_taken_for_another_s(sources, monkeypatch):
    own, generic = asking(), asking(cc_target="generic")
    before = [library_build.place(experiment, sources) for experiment in (own, generic)]
    monkeypatch.setattr(library_build, "_processor", lambda: ["another one"])
    after = [library_build.place(experiment, sources) for experiment in (own, generic)]
    assert after[0] != before[0] and after[1] == before[1]


BUILDS = """
import sys
from pathlib import Path
from cputrain import paths
paths.STATE = Path(sys.argv[1])
sys.path.insert(0, sys.argv[3])
from cputrain.engines.native_ import library_build
from toy_sources import asking
print(library_build.library(asking(), Path(sys.argv[2])).stat().st_ino)
"""


@needs_gcc
def test_processes_that_want_it_at_once_get_the_same_one(sources):
    folder = Path(toy_sources.__file__).parent
    words = (BUILDS, paths.STATE, sources, folder)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(paths.PROJECT)}
    with ThreadPoolExecutor(3) as pool:
        printed = list(pool.map(lambda _: in_process(*words, **env), range(3)))
    assert len(set(printed)) == 1
    left = {file.name for file in library_build.folder().iterdir()}
    assert left == {"lock", library_build.place(asking(), sources).parent.name}


@needs_gcc
def test_what_a_killed_build_left_is_removed(sources):
    left = library_build.folder() / f"{library_build.MAKING}1"
    left.mkdir(parents=True)
    (left / "half.o").write_text("")
    library_build.library(asking(), sources)
    assert not left.exists()


@needs_gcc
def test_an_error_is_one_line_and_leaves_nothing(sources):
    (sources / "sum.c").write_text('#include "sum.h"\nint nothing(void) { return unknown; }\n')
    with pytest.raises(EngineError, match=r"^gcc cannot build .*error: .unknown. undeclared") as e:
        library_build.library(asking(), sources)
    assert "\n" not in str(e.value)
    assert [file.name for file in library_build.folder().iterdir()] == ["lock"]
    with pytest.raises(EngineError, match="no C sources"):
        library_build.library(asking(), sources / "nowhere")


@needs_gcc
def test_a_function_that_is_nowhere_is_an_error_of_the_build_and_not_of_a_worker(sources):
    """The linker would leave it to be looked for when it is called."""
    (sources / "loops.c").write_text("float missing(void); float f(void) { return missing(); }\n")
    with pytest.raises(EngineError, match="missing"):
        library_build.library(asking(), sources)


def test_a_compiler_that_is_not_here_is_one_line(sources, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    for cc in ("gcc", "clang"):
        with pytest.raises(EngineError, match=rf"^{cc} is not installed: apt install {cc} \(Fed"):
            library_build.library(asking(cc), sources)


@needs_gcc
def test_a_folder_that_cannot_be_written_is_one_line(sources, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(paths, "STATE", tmp_path / "file")
    with pytest.raises(EngineError, match=r"cannot be built in .*: Not a directory"):
        library_build.library(asking(), sources)


@needs_gcc
def test_a_sweep_builds_each_once_in_one_line(own_root, monkeypatch):
    sources = written(own_root / "src")
    monkeypatch.setattr(library_build, "SOURCES", sources)
    said = []
    experiments = [
        asking(),
        asking(threads=1),
        asking(level="O0"),
        asking().but(engine="numpy", cc_level="Ofast"),
    ]
    ahead.libraries(experiments, said.append)
    assert said == ["building the native engine: 2 libraries"]
    assert all(library_build.place(experiment).exists() for experiment in experiments[:3])
    ahead.libraries(experiments, said.append)
    assert len(said) == 1
    (sources / "sum.c").write_text("no C\n")
    ahead.libraries(experiments[:1], said.append)
    assert said[1] == "building the native engine: 1 library"
    assert "cannot build" in said[2] and "cells that need it will fail" in said[2]


def test_building_imports_none_of_the_measured_libraries():
    """A sweep builds in an interpreter that has none of the measured libraries."""
    program = (
        "import sys; from cputrain.engines import ahead; "
        "from cputrain.engines.native_ import library_build; "
        "print(sorted({'numpy', 'torch', 'psutil'} & set(sys.modules)))"
    )
    words = [sys.executable, "-c", program]
    env = {"PYTHONPATH": str(paths.PROJECT)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
