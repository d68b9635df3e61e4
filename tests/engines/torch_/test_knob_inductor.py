"""Inductor's compiler and level: real compiled code says who made it, and a lie is named."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig

import pytest
from settled import settled

from cputrain.engines.torch_.knobs import inductor
from cputrain.knobs.inforce import NotInForce, require
from cputrain.machine import compilers, library_search
from cputrain.run import placement

CHILD = """
import json, sys
import torch, torch._inductor.config
from cputrain.engines.torch_.knobs.inductor import InductorCompiler
from cputrain.experiment import Experiment
from cputrain.record.process import Placement

experiment, place = Experiment.from_json(json.loads(sys.argv[1])), Placement((0,), 1, 1, 1)
knob = InductorCompiler()
knob.before_work(experiment, place)
function = torch.compile(lambda x: torch.exp(x) * 2 + torch.sin(x))
x = torch.rand(32, 64)
assert torch.allclose(function(x), torch.exp(x) * 2 + torch.sin(x))
print(json.dumps([check.to_json() for check in knob.checks(experiment, place, {})]))
"""


def asking(cxx="default", level="default", **changes):
    runtime = "libiomp5" if cxx == "clang++" else "libgomp"
    changes = {"omp_runtime": runtime, **changes}
    return settled(compile="inductor", cxx=cxx, cxx_level=level, **changes)


def checks_of(experiment, folder):
    """The checks of a fresh process that compiled one loop."""
    env = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(folder),
        # Without these two it would compile trial programs and all headers first.
        "TORCHINDUCTOR_VEC_ISA_OK": "1",
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    if experiment.system.omp_runtime == "libiomp5":
        env["LD_PRELOAD"] = str(library_search.find("libiomp5"))
    words = [sys.executable, "-c", CHILD, json.dumps(experiment.to_json())]
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return {check["name"]: check for check in json.loads(done.stdout.splitlines()[-1])}


def loaded_in(folder):
    return [path for path in folder.rglob("*.so") if path.parent.name != inductor.FOLDER]


def refused(experiment, folder, named):
    with pytest.raises(NotInForce, match=named):
        require(inductor.in_force(experiment, loaded_in(folder)))


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_g_at_o1_and_whoever_says_otherwise(tmp_path):
    """The level is below inductor's own, so it shows that the last one is heeded."""
    pytest.importorskip("torch")
    experiment = asking("g++", "O1")
    checks = checks_of(experiment, tmp_path)
    assert all(check["ok"] for check in checks.values())
    assert checks["compiler of the compiled code"]["found"] == ["g++"]
    assert checks["level of the compiled code"]["found"] == ["O1"]
    require(inductor.in_force(experiment, loaded_in(tmp_path)))
    refused(asking("g++", "O3"), tmp_path, r"level .* asked for \['O3'\], found \['O1'\]")
    refused(asking("clang++", "O1"), tmp_path, r"compiler .* found \['g\+\+'\]")
    refused(asking(instruction_set="avx2"), tmp_path, "architecture")


def why_no_clang():
    if (reason := library_search.why_not("libiomp5")) is not None:
        return reason
    return inductor.InductorCompiler().why_not(asking("clang++", "O2"))


@pytest.mark.skipif(why_no_clang() is not None, reason=str(why_no_clang()))
def test_clang_shares_torch_s_openmp(tmp_path):
    pytest.importorskip("torch")
    checks = checks_of(asking("clang++", "O2"), tmp_path)
    assert all(check["ok"] for check in checks.values()), checks
    assert checks["compiler of the compiled code"]["found"] == ["clang++"]
    assert checks["level of the compiled code"]["found"] == ["O2"]
    refused(asking("g++", "O2"), tmp_path, r"compiler .* found \['clang\+\+'\]")


def test_nothing_loaded_or_nothing_recorded_is_not_in_force(tmp_path):
    refused(asking("g++"), tmp_path, "compiler")
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    source, library = tmp_path / "one.cpp", tmp_path / "one.so"
    source.write_text("int one() { return 1; }")
    words = ["g++", "-O3", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(words, check=True)
    refused(asking("g++", "O3"), tmp_path, r"level .* found \[\]")
    library.write_text("no library")
    refused(asking("g++", "O3"), tmp_path, "record")


def test_the_name_says_all_that_is_asked():
    """Inductor keeps compiled headers by the words of its command."""
    assert inductor.script_name(asking()) is None
    assert inductor.script_name(settled()) is None
    assert inductor.script_name(asking("g++")) == "g++"
    assert inductor.script_name(asking(level="O0")) == "g++-O0"
    assert inductor.script_name(asking("clang++", "O3")) == "clang++-O3"
    assert inductor.script_name(asking(instruction_set="avx2")) == "g++-x86-64-v3"


def test_a_missing_compiler_is_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "g++ (Fedora: dnf install gcc-c++)" in placement.why_not(asking())
    knob = inductor.InductorCompiler()
    assert "clang (Fedora: dnf install clang)" in knob.why_not(asking("clang++"))
    assert knob.why_not(settled()) is None


def test_missing_headers_of_python_are_a_reason(monkeypatch, tmp_path):
    """Distributions have them in a package of their own, and inductor's C++ includes them."""
    assert compilers.python_header().is_file(), "tests of inductor need them"
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / name))
    reason = inductor.InductorCompiler().why_not(asking())
    assert f"{tmp_path}/include/Python.h is not there: apt install python3-dev" in reason
    assert inductor.InductorCompiler().why_not(settled()) is None


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_what_the_compiler_says_is_in_the_failure(tmp_path):
    """Inductor's own first lines are "C++ compile error" and "Command:"."""
    torch = pytest.importorskip("torch")
    from torch._inductor import exc

    from cputrain.engines.torch_.compile import Compilation

    compilation = Compilation(torch.nn.Linear(2, 2), settled(compile="inductor").runtime, True)
    words = ["g++", "-fsyntax-only", str(tmp_path / "a.cpp")]
    (tmp_path / "a.cpp").write_text("#include <no_such_header.h>\n")
    said = subprocess.run(words, capture_output=True, text=True).stderr
    error = compilation.failure(exc.InductorError(exc.CppCompileError(words, said), None))
    assert str(error).endswith("fatal error: no_such_header.h: No such file or directory)")
    assert "\n" not in str(error)


@pytest.mark.parametrize(("name", "is_fine"), [("my bench", False), ("it's", False), ("ä", True)])
def test_a_folder_that_inductor_cannot_link_in_is_a_reason(monkeypatch, tmp_path, name, is_fine):
    monkeypatch.setattr(library_search, "prefixes", lambda: (tmp_path / name,))
    reason = inductor.InductorCompiler().why_not(asking())
    assert (reason is None) == is_fine
    if reason is not None:
        assert str(tmp_path / name) in reason and "clone into a folder without them" in reason
    assert inductor.InductorCompiler().why_not(settled()) is None


def test_a_clang_without_openmp_s_header_is_a_reason(monkeypatch, tmp_path):
    clang = tmp_path / "clang++"
    clang.write_text("#!/bin/sh\nexit 1\n")
    clang.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CONDA_PREFIX", "")
    monkeypatch.setattr(library_search, "find", lambda name: tmp_path / "lib" / "libiomp5.so")
    compilers.has_own_header.cache_clear()
    try:
        reason = inductor.InductorCompiler().why_not(asking("clang++"))
        assert "omp.h" in reason and "libomp-dev" in reason
    finally:
        compilers.has_own_header.cache_clear()
