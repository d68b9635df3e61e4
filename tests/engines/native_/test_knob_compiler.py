"""The native engine's compiler: what a library says of its making, and every lie about it."""

import dataclasses
import json
import os
import sys

import pytest
from toy_sources import COMPILERS, asking, in_process, why_no, written

from cputrain.engines.native_ import library_build
from cputrain.engines.native_.knobs import compiler
from cputrain.knobs.inforce import NotInForce, require
from cputrain.machine import built, isa, vectors

each_compiler = pytest.mark.parametrize(
    "cc",
    [
        pytest.param(cc, marks=pytest.mark.skipif(cc not in COMPILERS, reason=str(why_no(cc))))
        for cc in ("gcc", "clang")
    ],
)
needs_gcc = pytest.mark.skipif("gcc" not in COMPILERS, reason=str(why_no("gcc")))
NAME = "{} of the native engine"


@pytest.fixture
def sources(own_root):
    return written(own_root / "src")


def failed(experiment, library):
    return {check.name for check in compiler.in_force(experiment, [library]) if not check.ok}


@each_compiler
@pytest.mark.parametrize("level", ["O0", "O2", "O3", "Ofast"])
@pytest.mark.parametrize("target", ["native", "generic"])
@pytest.mark.parametrize("lto", [False, True], ids=["", "lto"])
def test_what_was_asked_is_in_force_and_nothing_else(sources, cc, level, target, lto):
    experiment = asking(cc, level, cc_target=target, lto=lto)
    library = library_build.library(experiment, sources)
    require(compiler.in_force(experiment, [library]))
    for other in {"O0", "O2", "O3", "Ofast"} - {level}:
        assert NAME.format("level") in failed(experiment.but(cc_level=other), library)
    wrong = "generic" if target == "native" else "native"
    assert NAME.format("architecture") in failed(experiment.but(cc_target=wrong), library)
    assert NAME.format("link-time optimization") in failed(experiment.but(lto=not lto), library)
    other = asking("clang" if cc == "gcc" else "gcc", level, cc_target=target, lto=lto)
    assert NAME.format("compiler") in failed(other, library)


@each_compiler
def test_link_time_optimization_reaches_over_files(sources, cc):
    """What the switches say is what happened: the function of another file is called no more."""
    calls = []
    for lto in (False, True):
        library = library_build.library(asking(cc, "O2", lto=lto), sources)
        text = vectors.disassembled(library)
        body = text.partition("<thirds>:")[2].partition("\n\n")[0]
        calls.append("third" in body.replace("<thirds", ""))
    assert calls == [True, False]


@each_compiler
@pytest.mark.skipif(isa.why_not("avx2") is not None, reason=str(isa.why_not("avx2")))
def test_each_instruction_set_s_registers_and_what_is_above_them(sources, cc):
    sets = ("baseline", "avx2", "native")
    experiments = {name: asking(cc, "Ofast", instruction_set=name) for name in sets}
    made = {
        name: library_build.library(experiment, sources) for name, experiment in experiments.items()
    }
    counts = {name: vectors.count(library) for name, library in made.items()}
    assert counts["baseline"]["xmm_packed"] > 0 == counts["baseline"]["ymm"]
    assert counts["avx2"]["ymm"] > 0 == counts["avx2"]["zmm"]
    for name in sets:
        require(compiler.in_force(experiments[name], [made[name]]))
    lower, higher = compiler.instructions(experiments["baseline"], made["avx2"])[0], None
    assert not lower.ok and lower.name == "vector_instructions" and lower.actual["ymm"] > 0
    (higher,) = compiler.instructions(experiments["native"], made["baseline"])
    assert not higher.ok and higher.expected == "some ymm or zmm"
    generic = asking(cc, "Ofast", cc_target="generic")
    assert not compiler.instructions(generic, made["avx2"])[0].ok
    if counts["native"]["zmm"]:
        assert not compiler.instructions(experiments["avx2"], made["native"])[0].ok


@needs_gcc
def test_single_numbers_in_vector_registers_do_not_count(sources):
    library = library_build.library(asking("gcc", "O0", cc_target="generic"), sources)
    assert vectors.count(library) == {"zmm": 0, "ymm": 0, "xmm_packed": 0}


@needs_gcc
def test_no_library_two_libraries_and_no_record_are_not_in_force(sources, tmp_path):
    experiment = asking()
    library = library_build.library(experiment, sources)
    for loaded in ([], [library, library]):
        with pytest.raises(NotInForce, match="libraries of the native engine: asked for one"):
            require(compiler.in_force(experiment, loaded))
    broken = tmp_path / library.name
    broken.write_text("no library")
    with pytest.raises(NotInForce, match="own record"):
        require(compiler.in_force(experiment, [broken]))


@needs_gcc
def test_the_library_that_counts_is_the_one_that_is_mapped(sources):
    """Built as asked is not enough: another one may be loaded."""
    experiment, other = asking(level="O3"), library_build.library(asking(level="O0"), sources)
    library_build.library(experiment, sources)
    program = (
        "import ctypes, json, sys; from cputrain.experiment import Experiment; "
        "from cputrain.engines.native_.knobs.compiler import NativeCompiler; "
        "ctypes.CDLL(sys.argv[1]); "
        "e = Experiment.from_json(json.loads(sys.argv[2])); "
        "print([c.name for c in NativeCompiler().checks(e, None, {}) if not c.ok])"
    )
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    said = in_process(program, other, json.dumps(experiment.to_json()), **env)
    assert "level of the native engine" in said


@needs_gcc
def test_records_of_the_two_compilers_are_told_apart(sources):
    record = built.read(library_build.library(asking(), sources))
    assert record.compiler == "g++"
    assert dataclasses.replace(record, switches=()).last(r"-(O\w*)") == []
