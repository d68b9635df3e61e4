"""Missing compilers and what they may lack: each is one line with what to install."""

import json
import os
import shutil
from pathlib import Path

import pytest
from toy_sources import COMPILERS, NATIVE, asking, in_process, why_no

from cputrain import paths
from cputrain.engines import settings
from cputrain.engines.native_ import library_build
from cputrain.engines.native_.knobs import compiler
from cputrain.engines.native_.knobs.compiler import NativeCompiler
from cputrain.machine import compilers, library_search
from cputrain.run import placement

needs_gcc = pytest.mark.skipif("gcc" not in COMPILERS, reason=str(why_no("gcc")))


def test_other_engines_ask_for_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    numpy = NATIVE.but(engine="numpy")
    assert settings.why_not(numpy) is None
    assert not any(isinstance(knob, NativeCompiler) for knob in settings.knobs(numpy))


def linked(folder, *names):
    """A folder with these programs of PATH alone."""
    folder.mkdir()
    for name in names:
        for place in os.environ["PATH"].split(os.pathsep):
            if (Path(place) / name).exists():
                (folder / name).symlink_to(Path(place) / name)
                break
    return str(folder)


@pytest.fixture
def forgetful(monkeypatch, tmp_path):
    """Nothing is remembered of compilers, before or after, and no library is built yet."""
    monkeypatch.setattr(library_build, "folder", lambda: tmp_path / "native")
    caches = (compiler._tried, compilers.version, compilers.has_own_header)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_without_any_compiler_each_says_what_to_install(forgetful, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", linked(tmp_path / "bin", "python3", "objdump"))
    reason = placement.why_not(NATIVE)
    assert reason == "gcc is not installed: apt install gcc (Fedora: dnf install gcc)"
    reason = NativeCompiler().why_not(asking("clang"))
    assert reason == "clang is not installed: apt install clang (Fedora: dnf install clang)"


@needs_gcc
def test_without_objdump_nothing_can_be_shown(forgetful, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", linked(tmp_path / "bin", "gcc", "as", "ld"))
    assert NativeCompiler().why_not(asking()).startswith("objdump is not installed: apt install")


def stand_in(folder, name, text):
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return folder


@needs_gcc
def test_a_compiler_without_link_time_optimization_loses_those_cells_only(
    forgetful, monkeypatch, tmp_path
):
    refuses = (
        'case " $* " in *" -flto "*) echo "cc1: error: LTO support has not been enabled in" \\\n'
    )
    refuses += '"this configuration" >&2; exit 1;; esac\nexec /usr/bin/gcc "$@"'
    folder = stand_in(tmp_path / "bin", "gcc", refuses.replace("/usr/bin/gcc", shutil.which("gcc")))
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert NativeCompiler().why_not(asking()) is None
    reason = NativeCompiler().why_not(asking(lto=True))
    assert reason.startswith("gcc cannot optimize at link time: cc1: error: LTO support has not")
    assert "\n" not in reason


def test_a_compiler_without_the_c_library_s_headers_says_so(forgetful, monkeypatch, tmp_path):
    text = 'echo "trial.c:1:10: fatal error: math.h: No such file or directory" >&2; exit 1'
    folder = stand_in(tmp_path / "bin", "gcc", text)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    if shutil.which("objdump") is None:
        pytest.skip("objdump is not installed")
    reason = NativeCompiler().why_not(asking())
    assert reason.startswith("gcc cannot build a library with OpenMP: trial.c:1:10: fatal error")


def test_clang_without_openmp_s_header_says_so(forgetful, monkeypatch, tmp_path):
    folder = stand_in(tmp_path / "bin", "clang", "exit 1")
    (folder / "objdump").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(library_search, "find", lambda name: tmp_path / "lib" / "libiomp5.so")
    reason = NativeCompiler().why_not(asking("clang"))
    assert reason == f"clang has no omp.h: {compilers.HEADER}"


def test_clang_without_libiomp5_says_so(forgetful, monkeypatch, tmp_path):
    folder = stand_in(tmp_path / "bin", "clang", "exit 0")
    (folder / "objdump").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv(library_search.VARIABLE, "libiomp5=/nowhere/libiomp5.so")
    monkeypatch.setattr(library_search, "expected", lambda name: False)
    assert "/nowhere/libiomp5.so" in NativeCompiler().why_not(asking("clang"))


LISTS = """
import json
from cputrain.sweep import plan
suites = {p.name: {cell.name: cell.why_not for cell in p.cells} for p in plan.survey()[0]}
wanted = ("Compiler", "OmpSchedule", "InstructionSet", "NumaPolicy", "Framework", "SeqLen")
print(json.dumps({name: suites[name] for name in wanted}))
"""


def listed(folder):
    """The reasons of every cell of some suites, in a process that has these programs alone."""
    env = {"PATH": folder, "PYTHONPATH": str(paths.PROJECT)}
    return json.loads(in_process(LISTS, **env).splitlines()[-1])


def test_a_machine_without_compilers_and_numactl_skips_those_cells_with_reasons(tmp_path):
    by_suite = listed(linked(tmp_path / "bin", "git", "ldconfig"))
    assert all(reason and "\n" not in reason for reason in by_suite["Compiler"].values())
    for name, reason in by_suite["Compiler"].items():
        cc = name.partition("_")[0]
        assert reason.startswith(f"{cc} is not installed: apt install {cc}"), name
    ours = [
        reason for name, reason in by_suite["InstructionSet"].items() if name.endswith("-native")
    ]
    for reasons in (by_suite["OmpSchedule"].values(), ours):
        assert reasons and all("gcc is not installed" in reason for reason in reasons)
    assert "gcc is not installed" in by_suite["Framework"]["native"]
    assert by_suite["Framework"]["numpy"] is None
    numa = by_suite["NumaPolicy"]  # one node, or no numactl
    assert all((reason is None) == (name == "default") for name, reason in numa.items())
    assert by_suite["SeqLen"]["256-torch"] is None


@needs_gcc
def test_a_machine_with_gcc_alone_skips_clang_s_cells_only(tmp_path):
    """gcc finds its own assembler and linker beside itself or on PATH."""
    by_suite = listed(linked(tmp_path / "bin", "gcc", "as", "ld", "objdump", "git", "ldconfig"))
    for name, reason in by_suite["Compiler"].items():
        if name.startswith("clang"):
            assert reason.startswith("clang is not installed: apt install clang"), name
        elif "libiomp5" not in name:
            assert reason is None, name
    assert by_suite["Framework"]["native"] is None
